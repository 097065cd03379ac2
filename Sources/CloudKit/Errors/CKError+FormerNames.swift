/// The former name of `CKError.Code`.
@available(*, deprecated, renamed: "CKError.Code")
public typealias CKErrorCode = CKError.Code
