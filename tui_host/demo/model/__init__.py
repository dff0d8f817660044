"""The demo model: follows rules, and serves models' HTTP APIs on the loopback interface."""
