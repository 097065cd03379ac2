/// Stops the program where Apple's framework raises an exception, with the rule that was broken. `preconditionFailure`
/// would leave the rule out in an optimised build, which is what apps are shipped as.
func raise(_ rule: String, file: StaticString = #fileID, line: UInt = #line) -> Never {
    fatalError(rule, file: file, line: line)
}

/// The same unless a condition holds.
func raise(
    unless condition: Bool, _ rule: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line
) {
    if !condition { raise(rule(), file: file, line: line) }
}
