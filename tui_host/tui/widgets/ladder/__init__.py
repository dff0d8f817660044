"""The inspector's list: two lanes on one clock."""
