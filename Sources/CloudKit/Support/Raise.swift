/// Stops the program where Apple's framework raises an exception, and prints the violated rule. `preconditionFailure`
/// would omit the rule in an optimised build, which is the one that apps ship.
func raise(_ rule: String, file: StaticString = #fileID, line: UInt = #line) -> Never {
    fatalError(rule, file: file, line: line)
}

/// Stops the program with the violated rule unless a condition holds.
func raise(
    unless condition: Bool, _ rule: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line
) {
    if !condition { raise(rule(), file: file, line: line) }
}
