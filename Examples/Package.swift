// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "account-kit-examples",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "api-client", targets: ["api-client"]),
        .executable(name: "api-poller", targets: ["api-poller"]),
        .executable(name: "embed-login", targets: ["embed-login"]),
        .executable(name: "gists", targets: ["gists"]),
        .executable(name: "homepwner", targets: ["homepwner"]),
        .executable(name: "oauth-login", targets: ["oauth-login"]),
        .executable(name: "reading-list", targets: ["reading-list"]),
        // The parts of the tools that have unit tests.
        .library(name: "ExampleLibraries", targets: ["Inventory", "Terminal"]),
    ],
    dependencies: [
        .package(name: "swift-account-kit", path: "..", traits: ["Offline"]),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0", traits: []),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // A tool with an OAuth login.
        .executableTarget(
            name: "oauth-login",
            dependencies: [
                .product(name: "AccountCommands", package: "swift-account-kit"),
                .product(name: "AccountHTTP", package: "swift-account-kit"),
                .product(name: "AccountKit", package: "swift-account-kit"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]
        ),
        // A tool that calls an API with the signed-in user's token.
        .executableTarget(
            name: "api-client",
            dependencies: [
                .product(name: "AccountCommands", package: "swift-account-kit"),
                .product(name: "AccountHTTP", package: "swift-account-kit"),
                .product(name: "AccountKit", package: "swift-account-kit"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]
        ),
        // A tool with a custom login, without OAuth.
        .executableTarget(
            name: "embed-login",
            dependencies: [
                .product(name: "AccountCommands", package: "swift-account-kit"),
                .product(name: "AccountHTTP", package: "swift-account-kit"),
                .product(name: "AccountKit", package: "swift-account-kit"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        // The output of the tools below.
        .target(
            name: "Terminal",
            dependencies: [.product(name: "AccountKit", package: "swift-account-kit")]
        ),
        // The document of `homepwner`.
        .target(
            name: "Inventory",
            dependencies: [
                "Terminal",
                .product(name: "AccountDocuments", package: "swift-account-kit"),
                .product(name: "AccountKit", package: "swift-account-kit"),
            ]
        ),
        // A tool that also works without the network.
        .executableTarget(
            name: "gists",
            dependencies: [
                "Terminal",
                .product(name: "AccountCommands", package: "swift-account-kit"),
                .product(name: "AccountHTTP", package: "swift-account-kit"),
                .product(name: "AccountHelpers", package: "swift-account-kit"),
                .product(name: "AccountKit", package: "swift-account-kit"),
                .product(name: "AccountOffline", package: "swift-account-kit"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
        // A minimal offline tool for another service, which shows what an app must add to work without the network.
        .executableTarget(
            name: "reading-list",
            dependencies: [
                .product(name: "AccountCommands", package: "swift-account-kit"),
                .product(name: "AccountHTTP", package: "swift-account-kit"),
                .product(name: "AccountKit", package: "swift-account-kit"),
                .product(name: "AccountOffline", package: "swift-account-kit"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
        // A tool whose documents survive crashes and power cuts. It requires no account, and can encrypt everything
        // with one.
        .executableTarget(
            name: "homepwner",
            dependencies: [
                "Inventory", "Terminal",
                .product(name: "AccountCommands", package: "swift-account-kit"),
                .product(name: "AccountDocuments", package: "swift-account-kit"),
                .product(name: "AccountHTTP", package: "swift-account-kit"),
                .product(name: "AccountKit", package: "swift-account-kit"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]
        ),
        // A long-running service that acts for the signed-in user, and keeps the session if it is stopped during a
        // refresh.
        .executableTarget(
            name: "api-poller",
            dependencies: [
                .product(name: "AccountHTTP", package: "swift-account-kit"),
                .product(name: "AccountKit", package: "swift-account-kit"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ]
        ),
    ]
)

for target in package.targets where target.type != .system {
    var settings = target.swiftSettings ?? []

    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0335-existential-any.md
    // Require `any` for existential types.
    settings.append(.enableUpcomingFeature("ExistentialAny"))

    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0409-access-level-on-imports.md
    // Imports are internal by default.
    settings.append(.enableUpcomingFeature("InternalImportsByDefault"))

    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0444-member-import-visibility.md
    // A file can use only members of the modules that it imports.
    settings.append(.enableUpcomingFeature("MemberImportVisibility"))

    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0443-warning-control-flags.md A warning fails
    // the build of this package, but never the build of a package that depends on it.
    settings.append(.treatAllWarnings(as: .error))

    target.swiftSettings = settings
}
