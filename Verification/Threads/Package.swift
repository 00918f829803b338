// swift-tools-version: 6.2

import PackageDescription

// A separate package, so that no network library is compiled with Thread Sanitizer. Its modules are links to those of the
// root package.
let package = Package(
    name: "account-kit-threads",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0", traits: []),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    ],
    targets: [
        .systemLibrary(name: "CSodium", pkgConfig: "libsodium"),
        .target(name: "CAccountKitShims"),
        .target(name: "AccountCrypto", dependencies: ["CSodium"]),
        .target(name: "AccountSupport", dependencies: ["AccountCrypto"]),
        .target(
            name: "AccountKit",
            dependencies: [
                "AccountCrypto", "AccountSupport", "CAccountKitShims", .product(name: "Logging", package: "swift-log"),
            ],
            exclude: ["AccountKit.docc"]),
        .target(
            name: "AccountDocuments",
            dependencies: [
                "AccountCrypto", "AccountKit", "AccountSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            exclude: ["AccountDocuments.docc"]),
        .target(
            name: "AccountTesting",
            dependencies: [
                "AccountKit",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "InMemoryLogging", package: "swift-log"),
                .product(name: "Logging", package: "swift-log"),
            ],
            exclude: ["AccountTesting.docc"]),
        .target(name: "TestScene", dependencies: ["AccountKit", "AccountTesting"]),
        .testTarget(name: "AccountCryptoTests", dependencies: ["AccountCrypto"], exclude: ["Fixtures"]),
        .testTarget(
            name: "AccountSupportTests",
            dependencies: ["AccountCrypto", "AccountKit", "AccountSupport", "AccountTesting"]),
        .testTarget(
            name: "AccountKitTests",
            dependencies: [
                "AccountCrypto", "AccountKit", "AccountTesting", "TestScene",
                .product(name: "Logging", package: "swift-log"),
            ],
            exclude: ["Vault/Fixtures"]),
        .testTarget(
            name: "AccountTestingTests",
            dependencies: [
                "AccountKit", "AccountTesting", "TestScene", .product(name: "Logging", package: "swift-log"),
            ]),
        .testTarget(
            name: "AccountDocumentsTests",
            dependencies: [
                "AccountCrypto", "AccountDocuments", "AccountKit", "AccountSupport", "AccountTesting", "TestScene",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]),
    ]
)

for target in package.targets where target.type != .system {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
    ]
    // As in the root package.
    if ["AccountCrypto", "AccountSupport", "AccountKit", "AccountKitTests"].contains(target.name) {
        target.swiftSettings?.append(.enableUpcomingFeature("NonisolatedNonsendingByDefault"))
    }
}
