// The module's code follows.
