import AccountHTTP
import AccountKit
import AsyncHTTPClient
import Benchmark
import CFloor
import CLoopback
import Foundation
import NIOCore
import NIOHTTP1

/// The check and the refresh, with a service on the loopback interface.
///
/// The floor is the minimum: one request by the same HTTP client on an open connection, and one durable write.
func serviceBenchmarks() {
    Benchmark("check: store") { benchmark, session in
        benchmark.startMeasurement()
        let state = await session.store.checkSession(with: session.authority)
        benchmark.stopMeasurement()
        guard case .verified = state else { throw Failure("\(state)") }
    } setup: {
        try await Session("check")
    }

    Benchmark("check: floor") { benchmark, session in
        benchmark.startMeasurement()
        try await session.request(.GET, "/userinfo")
        try session.save()
        benchmark.stopMeasurement()
    } setup: {
        try await Session("check-floor")
    }

    Benchmark("refresh: store") { benchmark, session in
        benchmark.startMeasurement()
        try await session.store.refresh(with: session.authority)
        benchmark.stopMeasurement()
    } setup: {
        try await Session("refresh")
    }

    Benchmark("refresh: floor") { benchmark, session in
        benchmark.startMeasurement()
        try await session.request(.POST, "/token")
        try session.save()
        benchmark.stopMeasurement()
    } setup: {
        try await Session("refresh-floor")
    }
}

/// A signed-in user of a service that runs in this process.
private struct Session: Sendable {
    let place: Place
    let store: AccountStore
    let authority: OAuthAuthority
    let issuer: String
    let bytes: Data

    private static let port = loopback_start()

    init(_ name: String) async throws {
        guard Self.port != 0 else { throw Failure("the loopback service does not start") }
        place = try Place(name)
        issuer = "http://127.0.0.1:\(Self.port)"
        store = try await place.signedInStore(issuer: issuer)
        authority = try OAuthAuthority(issuer: issuer, clientID: "bench")
        bytes = try Data(contentsOf: URL(fileURLWithPath: place.archive))
    }

    /// Sends only the request that the authority sends.
    func request(_ method: HTTPMethod, _ path: String) async throws {
        var request = HTTPClientRequest(url: issuer + path)
        request.headers.add(name: "Authorization", value: "Bearer 0123456789abcdef")
        if method == .POST {
            request.method = .POST
            request.headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
            request.body = .bytes(ByteBuffer(string: "grant_type=refresh_token&refresh_token=0123456789abcdef"))
        }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(5))
        let body = try await response.body.collect(upTo: 65_536)
        guard response.status == .ok, body.readableBytes > 0 else { throw Failure("\(response.status)") }
    }

    func save() throws {
        let error = bytes.withUnsafeBytes { floor_save(place.folder, place.archive, $0.baseAddress, $0.count) }
        if let error { throw Failure(error) }
    }
}
