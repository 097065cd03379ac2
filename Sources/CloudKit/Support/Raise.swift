/// Stops the program where Apple's framework raises an exception, and prints the violated rule. `preconditionFailure`
/// would not print the rule in an optimised build, and apps ship optimised builds.
func raise(_ rule: String, file: StaticString = #fileID, line: UInt = #line) -> Never {
    fatalError(rule, file: file, line: line)
}

/// Stops the program and prints the violated rule unless a condition holds.
func raise(
    unless condition: Bool, _ rule: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line
) {
    if !condition { raise(rule(), file: file, line: line) }
}
