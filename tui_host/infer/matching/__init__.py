"""Match frames with calls wherever only one reading is possible."""
