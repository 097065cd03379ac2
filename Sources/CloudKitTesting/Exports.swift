// This module is LocalCloud's tests: it is of no use without that.
@_exported public import CloudKitLocal
