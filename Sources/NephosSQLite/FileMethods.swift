import CSQLite

/// The methods of a file that SQLite has open, with some of ours in their place. Behind them stand an object that ours
/// work with and the file's own methods, which take the same file.
struct FileMethods {
    private let memory: UnsafeMutableRawPointer
    private static let context = MemoryLayout<sqlite3_io_methods>.stride
    private static let original = context + MemoryLayout<UInt>.stride

    /// Nil where there is no file, or its methods are of an older version.
    /// - Parameters:
    ///   - context: must outlive the file.
    ///   - replace: puts ours in their place.
    init?(
        of file: UnsafeMutablePointer<sqlite3_file>?, version: Int32, context: AnyObject,
        replace: (inout sqlite3_io_methods) -> Void
    ) {
        guard let file, let original = file.pointee.pMethods, original.pointee.iVersion >= version else { return nil }
        memory = .allocate(byteCount: Self.original + MemoryLayout<UInt>.stride, alignment: 16)
        let methods = memory.initializeMemory(as: sqlite3_io_methods.self, to: original.pointee)
        memory.storeBytes(
            of: UInt(bitPattern: Unmanaged.passUnretained(context).toOpaque()), toByteOffset: Self.context,
            as: UInt.self)
        memory.storeBytes(of: UInt(bitPattern: original), toByteOffset: Self.original, as: UInt.self)
        replace(&methods.pointee)
        file.pointee.pMethods = UnsafePointer(methods)
    }

    /// Only after the file was closed.
    func deallocate() { memory.deallocate() }

    private static func word(of file: UnsafeMutablePointer<sqlite3_file>?, _ offset: Int) -> UInt {
        file?.pointee.pMethods.map { UnsafeRawPointer($0).load(fromByteOffset: offset, as: UInt.self) } ?? 0
    }

    /// The object that a file's methods were given, which is of that class.
    static func context<Context: AnyObject>(
        of file: UnsafeMutablePointer<sqlite3_file>?, as _: Context.Type
    ) -> Unmanaged<Context>? {
        UnsafeRawPointer(bitPattern: word(of: file, context)).map { Unmanaged.fromOpaque($0) }
    }

    static func original(
        of file: UnsafeMutablePointer<sqlite3_file>?
    ) -> UnsafePointer<sqlite3_io_methods>? {
        UnsafePointer(bitPattern: word(of: file, original))
    }
}
