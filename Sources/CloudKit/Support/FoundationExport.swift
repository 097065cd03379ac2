// Code written for Apple's CloudKit uses Foundation through `import CloudKit` alone.
@_exported public import Foundation
