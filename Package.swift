// swift-tools-version: 6.2
import PackageDescription

/// Settings of every Swift target of ours: Swift 6 mode with the upcoming features we rely on.
let swiftSettings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// Settings of the service's targets: an `async` function runs on its caller's executor, as a switch of executors takes
/// locks even if it stays on the thread.
let serviceSettings = swiftSettings + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]

/// A Swift library target that may import `dependencies` and nothing else of ours (`make lint` checks the imports).
func library(
    _ name: String, _ dependencies: [Target.Dependency], settings: [SwiftSetting] = serviceSettings
) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

func tests(
    _ name: String, _ dependencies: [Target.Dependency], exclude: [String] = [], resources: [Resource] = []
) -> Target {
    .testTarget(
        name: name, dependencies: dependencies, exclude: exclude, resources: resources, swiftSettings: swiftSettings)
}

/// Code as apps have it, compiled as apps compile it: none of our settings, in one of Swift's language modes.
func appTests(
    _ name: String, _ path: String, _ mode: SwiftLanguageMode,
    _ dependencies: [Target.Dependency] = ["CloudKit", "CloudKitLocal"]
) -> Target {
    .testTarget(name: name, dependencies: dependencies, path: path, swiftSettings: [.swiftLanguageMode(mode)])
}

let package = Package(
    name: "nephos",
    products: [
        .library(name: "CloudKit", targets: ["CloudKit"]),
        .library(name: "CloudKitLocal", targets: ["CloudKitLocal"]),
        .library(name: "CloudKitLocalPostgres", targets: ["CloudKitLocalPostgres"]),
        .library(name: "CloudKitTesting", targets: ["CloudKitTesting"]),
        .library(name: "CloudKitExtras", targets: ["CloudKitExtras"]),
        .executable(name: "nephos", targets: ["nephos"]),
        .executable(name: "nephos-keys", targets: ["nephos-keys"]),
    ],
    targets: [
        // C libraries, each imported by exactly one target.
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(
            name: "CMicroHTTPD", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
        .systemLibrary(name: "CGnuTLS", pkgConfig: "gnutls", providers: [.apt(["libgnutls28-dev"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CXXHash", pkgConfig: "libxxhash", providers: [.apt(["libxxhash-dev"])]),
        .target(name: "CFiles"),
        .systemLibrary(name: "CDigest", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
        .systemLibrary(name: "CFido2", pkgConfig: "libfido2", providers: [.apt(["libfido2-dev"])]),
        .target(name: "CSimdJSON", linkerSettings: [.linkedLibrary("simdjson")]),
        .target(name: "CCloudKitArchives"),
        .target(name: "CWebFiles", exclude: ["cloudkit", "dashboard"]),
        .target(name: "CErrorPages"),

        // The protocol as values, the storage contract and its engines, the service, the server.
        library("NephosWire", ["CSimdJSON"]),
        library("NephosThreads", []),
        library("NephosStorage", ["NephosThreads", "CXXHash", "CFiles"]),
        library("NephosSQLite", ["NephosStorage", "NephosThreads", "CSQLite"]),
        library("NephosPostgres", ["NephosStorage", "NephosThreads", "CPostgres"]),
        library("NephosPostgresTesting", ["NephosPostgres", "NephosStorage", "NephosThreads"]),
        library("NephosStorageTesting", ["NephosStorage", "NephosThreads", "NephosTesting"]),
        library("NephosTesting", ["NephosCrypto"]),
        library("NephosCrypto", ["CSodium", "CDigest"]),
        library("NephosService", ["NephosWire", "NephosStorage", "NephosThreads", "NephosCrypto"]),
        library("NephosHTTP", ["NephosThreads", "CCurl"]),
        library("NephosPush", ["NephosService", "NephosWire", "NephosHTTP", "COpenSSL"]),
        library("NephosPasskeys", ["NephosService", "CFido2"]),
        library("NephosObjectStorage", ["NephosStorage", "NephosThreads", "NephosCrypto", "NephosHTTP"]),
        library(
            "NephosServer",
            ["NephosService", "NephosWire", "NephosThreads", "CMicroHTTPD", "CGnuTLS", "CZlib", "CWebFiles"]),
        .executableTarget(
            name: "nephos",
            dependencies: [
                "NephosServer", "NephosPush", "NephosPasskeys", "NephosObjectStorage", "NephosHTTP", "NephosService",
                "NephosStorage", "NephosSQLite", "NephosPostgres", "NephosThreads", "NephosWire", "CErrorPages",
            ],
            swiftSettings: serviceSettings),
        // The commands about an account's keys, which need the library.
        .executableTarget(
            name: "nephos-keys", dependencies: ["CloudKit", "NephosHTTP", "NephosWire"],
            swiftSettings: swiftSettings),

        // Apple's API, over HTTP or in the caller's process.
        library(
            "CloudKit", ["NephosWire", "NephosHTTP", "NephosThreads", "NephosCrypto", "CCloudKitArchives"],
            settings: swiftSettings),
        library(
            "CloudKitLocal", ["CloudKit", "NephosWire", "NephosService", "NephosStorage", "NephosSQLite"],
            settings: swiftSettings),
        library(
            "CloudKitLocalPostgres", ["CloudKitLocal", "NephosPostgres", "NephosStorage"], settings: swiftSettings),

        // What Apple's API does not have.
        library("CloudKitExtras", ["CloudKit", "NephosWire"], settings: swiftSettings),
        library(
            "CloudKitTesting", ["CloudKit", "CloudKitLocal", "NephosService", "NephosWire", "NephosCrypto"],
            settings: swiftSettings),

        // Code as our users write it: none of our settings, the public libraries only.
        .executableTarget(name: "Readme", dependencies: ["CloudKit"], path: "Examples/Readme"),
        .executableTarget(name: "Countries", dependencies: ["CloudKit"], path: "Examples/Countries"),
        .executableTarget(name: "SharedLists", dependencies: ["CloudKit"], path: "Examples/SharedLists"),
        .executableTarget(name: "ContactList", dependencies: ["CloudKit"], path: "Examples/ContactList"),
        .executableTarget(name: "Photos", dependencies: ["CloudKit"], path: "Examples/Photos"),
        .target(name: "NotesApp", dependencies: ["CloudKit"], path: "Examples/Notes/Sources"),
        .executableTarget(name: "sync-client", dependencies: ["CloudKit"], path: "Benchmarks/SyncClient"),
        .executableTarget(
            name: "native-client", dependencies: ["CloudKit", "CloudKitLocal"], path: "Benchmarks/NativeClient"),

        tests("NephosWireTests", ["NephosWire", "NephosTesting"]),
        tests("NephosThreadsTests", ["NephosThreads", "NephosTesting"]),
        tests("NephosStorageTests", ["NephosStorage", "NephosThreads"]),
        tests(
            "NephosSQLiteTests",
            ["NephosStorageTesting", "NephosStorage", "NephosTesting", "NephosThreads", "NephosSQLite"]),
        tests(
            "NephosObjectStorageTests", ["NephosObjectStorage", "NephosStorage", "NephosHTTP"],
            exclude: ["object_storage.py"]),
        tests("NephosCryptoTests", ["NephosCrypto"]),
        tests(
            "NephosPostgresTests",
            [
                "NephosStorageTesting", "NephosStorage", "NephosThreads", "NephosPostgres", "NephosPostgresTesting",
                "NephosSQLite",
                "NephosService", "NephosServer", "NephosTesting", "NephosWire", "CloudKit", "CloudKitLocal",
                "CloudKitLocalPostgres",
            ]),
        tests(
            "NephosServiceTests",
            [
                "NephosService", "NephosWire", "NephosStorage", "NephosThreads", "NephosSQLite", "NephosCrypto",
                "NephosPostgres", "NephosPostgresTesting", "NephosPasskeys", "NephosTesting",
            ]),
        tests("NephosHTTPTests", ["NephosHTTP"]),
        tests(
            "NephosPushTests", ["NephosPush", "NephosHTTP", "NephosService", "NephosTesting"], exclude: ["StandIns"]),
        tests(
            "NephosServerTests",
            [
                "NephosServer", "NephosService", "NephosSQLite", "NephosStorage", "NephosThreads", "NephosWire",
                "NephosCrypto",
                "CloudKit", "nephos", "nephos-keys", "NephosPostgres", "NephosPostgresTesting", "NephosPasskeys",
                "NephosTesting",
                "Readme",
                "Countries", "ContactList", "Photos", "SharedLists",
            ]),
        tests(
            "CloudKitTests",
            [
                "CloudKit", "CloudKitLocal", "CloudKitTesting", "CloudKitExtras", "NephosServer", "NephosService",
                "NephosSQLite", "NephosWire", "NephosCrypto", "NephosTesting",
            ],
            exclude: ["RealCode", "Encryption/sealed_values.py"]),
        tests("CloudKitTestingTests", ["CloudKit", "CloudKitExtras", "CloudKitTesting"]),
        // What both have in common is one folder; Swift6 sees it through a symbolic link.
        appTests("RealCodeSwift5Tests", "Tests/CloudKitTests/RealCode/Swift5", .v5),
        appTests("RealCodeSwift6Tests", "Tests/CloudKitTests/RealCode/Swift6", .v6),
        // An Xcode project's code, as its own package compiles it.
        .target(
            name: "Groceries", dependencies: ["CloudKit"], path: "Examples/FromAMac/Groceries",
            exclude: ["Views"], sources: ["Model", "Sync"], swiftSettings: [.swiftLanguageMode(.v5)]),
        appTests("GroceriesTests", "Examples/FromAMac/LinuxTests", .v6, ["Groceries", "CloudKit", "CloudKitTesting"]),
        appTests("NotesAppTests", "Examples/Notes/Tests", .v6, ["CloudKit", "CloudKitTesting", "NotesApp"]),
        // The code of the pages in `Documentation`.
        appTests(
            "DocumentationTests", "Tests/DocumentationTests", .v6,
            ["CloudKit", "CloudKitLocal", "CloudKitExtras", "CloudKitTesting"]),
    ],
    cxxLanguageStandard: .cxx17
)
