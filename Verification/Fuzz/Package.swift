// swift-tools-version: 6.2

import PackageDescription

// A separate package, which is not built with the library. Its modules are links to those of the root package, compiled
// with libFuzzer and the address sanitizer. The package contains only the parsers of AccountHTTP and AccountHelpers, so that
// it needs no network library.
let package = Package(
    name: "account-kit-fuzz",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0", traits: []),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    ],
    targets: [
        .systemLibrary(name: "CSodium", pkgConfig: "libsodium"),
        .systemLibrary(name: "CFuzzer"),
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
            name: "AccountHTTP",
            dependencies: [
                "AccountCrypto", "AccountKit", "AccountSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            sources: [
                "OAuth/ClientAuthentication.swift", "OAuth/Discovery.swift", "OAuth/Endpoint.swift",
                "OAuth/Issuer.swift", "OAuth/OAuthEndpoints.swift", "OAuth/ServiceDocument.swift",
                "OAuth/ServiceURL.swift", "Reading", "Services", "Transport/ServiceResponse.swift",
            ]),
        .target(name: "AccountHelpers"),
        .executableTarget(
            name: "fuzz",
            dependencies: [
                "AccountCrypto", "AccountHTTP", "AccountHelpers", "AccountKit", "AccountSupport", "CFuzzer",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]),
    ]
)

for target in package.targets where target.type != .system {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .unsafeFlags(["-sanitize=fuzzer,address", "-enable-testing"]),
    ]
    // As in the root package.
    if ["AccountCrypto", "AccountSupport", "AccountKit"].contains(target.name) {
        target.swiftSettings?.append(.enableUpcomingFeature("NonisolatedNonsendingByDefault"))
    }
    target.linkerSettings = [.unsafeFlags(["-sanitize=fuzzer,address", "-use-ld=lld"])]
}
