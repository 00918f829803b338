// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "account-kit-benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "swift-account-kit", path: "..", traits: ["Offline"]),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0", traits: []),
    ],
    targets: [
        // The necessary work, with system calls and libsodium alone; `programs.py` also builds a separate program with it.
        .target(name: "CFloor", linkerSettings: [.linkedLibrary("sodium")]),
        // The measured account.
        .target(name: "SampleAccount", dependencies: [.product(name: "AccountKit", package: "swift-account-kit")]),
        // Creates the containers for the benchmarks of whole processes.
        .executableTarget(
            name: "bench-container",
            dependencies: ["SampleAccount", .product(name: "AccountKit", package: "swift-account-kit")]
        ),
        // Loads and saves an account, in turns with the floor.
        .executableTarget(
            name: "store-bench",
            dependencies: ["CFloor", "SampleAccount", .product(name: "AccountKit", package: "swift-account-kit")]
        ),
        // Simulates many machines that share a session in etcd.
        .executableTarget(
            name: "fleet-storm",
            dependencies: [
                "SampleAccount",
                .product(name: "AccountFleet", package: "swift-account-kit"),
                .product(name: "AccountHTTP", package: "swift-account-kit"),
                .product(name: "AccountKit", package: "swift-account-kit"),
            ]
        ),
        // Measures lists of any size.
        .executableTarget(
            name: "offline-bench",
            dependencies: [
                .product(name: "AccountHTTP", package: "swift-account-kit"),
                .product(name: "AccountKit", package: "swift-account-kit"),
                .product(name: "AccountDocuments", package: "swift-account-kit"),
                .product(name: "AccountOffline", package: "swift-account-kit"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
    ]
)

for target in package.targets where target.type != .system {
    var settings = target.swiftSettings ?? []

    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0335-existential-any.md
    // Require `any` for existential types.
    settings.append(.enableUpcomingFeature("ExistentialAny"))

    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0444-member-import-visibility.md
    // A member can be used only where its module is imported.
    settings.append(.enableUpcomingFeature("MemberImportVisibility"))

    target.swiftSettings = settings
}
