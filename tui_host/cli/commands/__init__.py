"""One module for each command, with `add(parser)` for its options and `run(args, settings)`. Named in `cli.table`."""
