// swift-tools-version: 6.2
// Compiles the parts of the app that know CloudKit, and tests them on Linux. Xcode builds the app from Groceries.xcodeproj
// and ignores this file.
import PackageDescription

let package = Package(
    name: "Groceries",
    platforms: [.macOS(.v13), .iOS(.v16)],
    dependencies: [
        // With the address of the repository: .package(url: "…/nephos.git", branch: "main")
        .package(name: "nephos", path: "../..")
    ],
    targets: [
        .target(
            name: "Groceries",
            dependencies: [.product(name: "CloudKit", package: "nephos", condition: .when(platforms: [.linux]))],
            path: "Groceries",
            // The app's alone: views, asset catalogues, property lists.
            exclude: ["Views"],
            sources: ["Model", "Sync"],
            swiftSettings: [.swiftLanguageMode(.v5)]),
        .testTarget(
            name: "GroceriesTests",
            dependencies: [
                "Groceries",
                .product(name: "CloudKitTesting", package: "nephos", condition: .when(platforms: [.linux])),
            ],
            path: "LinuxTests"),
    ]
)
