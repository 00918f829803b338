// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "account-kit-examples",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "api-client", targets: ["api-client"]),
        .executable(name: "api-poller", targets: ["api-poller"]),
        .executable(name: "auth-server", targets: ["auth-server"]),
        .executable(name: "embed-login", targets: ["embed-login"]),
        .executable(name: "gists", targets: ["gists"]),
        .executable(name: "homepwner", targets: ["homepwner"]),
        .executable(name: "oauth-login", targets: ["oauth-login"]),
        .executable(name: "reading-list", targets: ["reading-list"]),
    ],
    dependencies: [
        .package(name: "swift-account-kit", path: "..", traits: ["Offline"]),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0", traits: []),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0", traits: []),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.34.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2", traits: []),
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
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        // A tool that asks an API in the name of whoever signed in.
        .executableTarget(
            name: "api-client",
            dependencies: [
                .product(name: "AccountCommands", package: "swift-account-kit"),
                .product(name: "AccountHTTP", package: "swift-account-kit"),
                .product(name: "AccountKit", package: "swift-account-kit"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        // A tool with a login of its own, which has nothing to do with OAuth.
        .executableTarget(
            name: "embed-login",
            dependencies: [
                .product(name: "AccountCommands", package: "swift-account-kit"),
                .product(name: "AccountKit", package: "swift-account-kit"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ]
        ),
        // What the tools below print.
        .target(
            name: "Terminal",
            dependencies: [.product(name: "AccountKit", package: "swift-account-kit")]
        ),
        // A tool that stays useful without the network.
        .executableTarget(
            name: "gists",
            dependencies: [
                "Terminal",
                .product(name: "AccountCommands", package: "swift-account-kit"),
                .product(name: "AccountHTTP", package: "swift-account-kit"),
                .product(name: "AccountKit", package: "swift-account-kit"),
                .product(name: "AccountOffline", package: "swift-account-kit"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        // The same for another service, as short as it can be: what an app adds of its own to stay useful without the network.
        .executableTarget(
            name: "reading-list",
            dependencies: [
                .product(name: "AccountCommands", package: "swift-account-kit"),
                .product(name: "AccountHTTP", package: "swift-account-kit"),
                .product(name: "AccountKit", package: "swift-account-kit"),
                .product(name: "AccountOffline", package: "swift-account-kit"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        // A tool whose documents survive whatever happens to it. No account is needed; with one, all of it can be sealed.
        .executableTarget(
            name: "homepwner",
            dependencies: [
                "Terminal",
                .product(name: "AccountCommands", package: "swift-account-kit"),
                .product(name: "AccountHTTP", package: "swift-account-kit"),
                .product(name: "AccountKit", package: "swift-account-kit"),
                .product(name: "AccountOffline", package: "swift-account-kit"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        // A service that runs on and on in the name of whoever signed in, and loses no login when it is stopped.
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
        // For the tests and the demo: an authorization server that can be told to misbehave.
        .systemLibrary(
            name: "CServerSodium",
            path: "Tests/Support/CServerSodium",
            pkgConfig: "libsodium",
            providers: [.apt(["libsodium-dev"]), .brew(["libsodium"])]
        ),
        .executableTarget(
            name: "auth-server",
            dependencies: [
                "CServerSodium",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HummingbirdTLS", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOFoundationEssentialsCompat", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            path: "Tests/Support/auth-server"
        ),
        // For the tests: a process that keeps files of a WebDAV server.
        .executableTarget(
            name: "webdav",
            dependencies: [
                .product(name: "AccountCommands", package: "swift-account-kit"),
                .product(name: "AccountHTTP", package: "swift-account-kit"),
                .product(name: "AccountKit", package: "swift-account-kit"),
                .product(name: "AccountOffline", package: "swift-account-kit"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/Support/webdav"
        ),
        // The built commands, run as a person or a script runs them, against real servers.
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "api-client",
                "api-poller",
                "auth-server",
                "embed-login",
                "gists",
                "homepwner",
                "oauth-login",
                "reading-list",
                "webdav",
                .product(name: "account", package: "swift-account-kit"),
                .product(name: "AccountHTTP", package: "swift-account-kit"),
                .product(name: "AccountKit", package: "swift-account-kit"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "Subprocess", package: "swift-subprocess"),
            ],
            exclude: ["Fixtures"]
        ),
        // What an app's own tests of token expiry look like.
        .testTarget(
            name: "TokenExpiryTests",
            dependencies: [
                .product(name: "AccountKit", package: "swift-account-kit"),
                .product(name: "AccountTesting", package: "swift-account-kit"),
            ]
        ),
        .testTarget(
            name: "AuthServerTests",
            dependencies: [
                "CServerSodium",
                "auth-server",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdTLS", package: "hummingbird"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "InMemoryLogging", package: "swift-log"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOFoundationEssentialsCompat", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "Subprocess", package: "swift-subprocess"),
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
    // An import is internal unless it says otherwise.
    settings.append(.enableUpcomingFeature("InternalImportsByDefault"))

    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0444-member-import-visibility.md
    // A member can be used only where its module is imported.
    settings.append(.enableUpcomingFeature("MemberImportVisibility"))

    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0443-warning-control-flags.md
    // A warning fails the build of this package; it never fails the build of one that depends on it.
    settings.append(.treatAllWarnings(as: .error))

    target.swiftSettings = settings
}
