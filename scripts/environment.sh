# Sourced by the scripts: a toolchain that is installed but not in PATH is found where installers put it.
export PATH="$PATH:/opt/swift/usr/bin:/usr/local/swift/usr/bin:${HOME:-/root}/.local/share/swiftly/bin"
