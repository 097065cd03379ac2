// Code for Apple's CloudKit uses Foundation with `import CloudKit` alone, so this module exports Foundation.
@_exported public import Foundation
