// swift-tools-version: 6.2
import PackageDescription

/// Where Nephos is. In a package of your own: `.package(url: "…/nephos.git", branch: "main")`, with the address of the
/// repository.
let nephos = Package.Dependency.package(name: "nephos", path: "../..")

let package = Package(
    name: "Starter",
    platforms: [.macOS(.v13), .iOS(.v16)],
    dependencies: [nephos],
    targets: [
        .target(
            name: "Notes",
            dependencies: [
                .product(name: "CloudKit", package: "nephos", condition: .when(platforms: [.linux]))
            ]),
        .executableTarget(name: "notebook", dependencies: ["Notes"]),
        .testTarget(
            name: "NotesTests",
            dependencies: [
                "Notes",
                .product(name: "CloudKitLocal", package: "nephos", condition: .when(platforms: [.linux])),
            ]),
    ]
)
