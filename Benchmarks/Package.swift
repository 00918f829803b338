// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "account-kit-benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "swift-account-kit", path: "..", traits: ["Offline", "Signatures", "TPM"]),
        // Without its traits, the package replaces neither the allocator nor the runtime, but can still measure time.
        .package(url: "https://github.com/ordo-one/benchmark", from: "1.38.0", traits: []),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0", traits: []),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        // The minimal work, with system calls and libsodium alone; also a separate program, in whole-process.
        .target(name: "CFloor", linkerSettings: [.linkedLibrary("sodium")]),
        // A service on the loopback interface that uses almost no processor time.
        .target(name: "CLoopback"),
        // The measured account, in any size.
        .target(name: "SampleAccount", dependencies: [.product(name: "AccountKit", package: "swift-account-kit")]),
        // Creates the containers for the benchmarks of whole processes.
        .executableTarget(
            name: "bench-container",
            dependencies: ["SampleAccount", .product(name: "AccountKit", package: "swift-account-kit")]
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
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
        // A check with SwiftNIO alone, linked like the command.
        .executableTarget(
            name: "nio-floor",
            dependencies: [
                "CFloor",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]
        ),
        .executableTarget(
            name: "InProcess",
            dependencies: [
                "CFloor",
                "CLoopback",
                "SampleAccount",
                .product(name: "AccountHTTP", package: "swift-account-kit"),
                .product(name: "AccountKit", package: "swift-account-kit"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Benchmark", package: "benchmark"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            path: "Benchmarks/InProcess",
            plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]
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
