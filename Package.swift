// swift-tools-version: 6.2
import PackageDescription

/// Settings of every Swift target of ours: Swift 6 mode with the upcoming features we rely on.
let swiftSettings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// A Swift library target that may import `dependencies` and nothing else of ours (`make lint` checks the imports).
func library(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: swiftSettings)
}

func tests(
    _ name: String, _ dependencies: [Target.Dependency], exclude: [String] = [], resources: [Resource] = []
) -> Target {
    .testTarget(
        name: name, dependencies: dependencies, exclude: exclude, resources: resources, swiftSettings: swiftSettings)
}

/// Code as apps have it, compiled as apps compile it: none of our settings, in one of Swift's language modes.
func appTests(_ name: String, _ path: String, _ mode: SwiftLanguageMode) -> Target {
    .testTarget(
        name: name, dependencies: ["CloudKit", "CloudKitLocal"], path: path, swiftSettings: [.swiftLanguageMode(mode)])
}

let package = Package(
    name: "nephos",
    products: [
        .library(name: "CloudKit", targets: ["CloudKit"]),
        .library(name: "CloudKitLocal", targets: ["CloudKitLocal"]),
        .library(name: "CloudKitExtras", targets: ["CloudKitExtras"]),
        .executable(name: "nephos", targets: ["nephos"]),
    ],
    targets: [
        // C libraries, each imported by exactly one target.
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(
            name: "CMicroHTTPD", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .target(name: "CSimdJSON", linkerSettings: [.linkedLibrary("simdjson")]),
        .target(name: "CCloudKitArchives"),

        // The protocol as values, the storage contract and its engines, the service, the server.
        library("NephosWire", ["CSimdJSON"]),
        library("NephosStorage", []),
        library("NephosSQLite", ["NephosStorage", "CSQLite"]),
        library("NephosStorageTesting", ["NephosStorage"]),
        library("NephosService", ["NephosWire", "NephosStorage"]),
        library("NephosPush", ["NephosService", "NephosWire", "CCurl", "COpenSSL"]),
        library("NephosServer", ["NephosService", "NephosWire", "CMicroHTTPD"]),
        .executableTarget(
            name: "nephos",
            dependencies: [
                "NephosServer", "NephosPush", "NephosService", "NephosStorage", "NephosSQLite", "NephosWire",
            ],
            swiftSettings: swiftSettings),

        // Apple's API, over HTTP or in the caller's process.
        library("CloudKit", ["NephosWire", "CCloudKitArchives"]),
        library("CloudKitLocal", ["CloudKit", "NephosWire", "NephosService", "NephosStorage", "NephosSQLite"]),

        // What Apple's API does not have.
        library("CloudKitExtras", ["CloudKit", "NephosWire"]),

        // Code as our users write it: none of our settings, the public libraries only.
        .executableTarget(name: "Readme", dependencies: ["CloudKit"], path: "Examples/Readme"),
        .executableTarget(name: "Countries", dependencies: ["CloudKit"], path: "Examples/Countries"),
        .executableTarget(name: "ContactList", dependencies: ["CloudKit"], path: "Examples/ContactList"),
        .executableTarget(name: "sync-client", dependencies: ["CloudKit"], path: "Benchmarks/SyncClient"),

        tests("NephosWireTests", ["NephosWire"]),
        tests("NephosStorageTests", ["NephosStorageTesting", "NephosStorage", "NephosSQLite"]),
        tests("NephosServiceTests", ["NephosService", "NephosWire", "NephosStorage", "NephosSQLite"]),
        tests("NephosPushTests", ["NephosPush", "NephosService"], exclude: ["StandIns"]),
        tests(
            "NephosServerTests",
            [
                "NephosServer", "NephosService", "NephosSQLite", "NephosWire", "CloudKit", "nephos", "Readme",
                "Countries", "ContactList",
            ]),
        tests(
            "CloudKitTests",
            [
                "CloudKit", "CloudKitLocal", "CloudKitExtras", "NephosServer", "NephosService", "NephosSQLite",
                "NephosWire",
            ],
            exclude: ["RealCode"]),
        // What both have in common is one folder; Swift6 sees it through a symbolic link.
        appTests("RealCodeSwift5Tests", "Tests/CloudKitTests/RealCode/Swift5", .v5),
        appTests("RealCodeSwift6Tests", "Tests/CloudKitTests/RealCode/Swift6", .v6),
    ],
    cxxLanguageStandard: .cxx17
)
