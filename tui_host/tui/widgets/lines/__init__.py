"""Line views: painting, styles, selection."""
