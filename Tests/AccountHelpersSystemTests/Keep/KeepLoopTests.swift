import AccountKit
import AccountTesting
import Foundation
import Synchronization
import Testing

@testable import AccountCommands
@testable import AccountHelpers

/// A kept token file, with a clock and a service that the test controls.
@Suite(.serialized, .timeLimit(.minutes(15))) struct KeepLoopTests {
    @Test func `Never exposes a partial or expired token to a reader of the file`() async throws {
        try await KeepStage.run { stage in
            let hasRotated = Atomic(false)
            let reader = Thread.reading(stage.file.path, stage.clock, atLeast: 10_000) {
                hasRotated.load(ordering: .acquiring)
            }
            for count in 1...100 {
                // After the refresh, the alarm is set for the next refresh.
                let state = try await stage.wait { state in
                    guard let alarm = state.alarm, let end = state.end else { return false }
                    return state.writes == count && alarm < end.addingTimeInterval(-100)
                }
                let alarm = try #require(state.alarm)
                #expect(alarm > stage.clock.now)
                stage.clock.now = alarm
                stage.ring()
            }
            _ = try await stage.wait { $0.writes == 101 }
            hasRotated.store(true, ordering: .releasing)
            let result = await reader.value
            #expect(result.problems == [], "\(stage.state.words.suffix(5))")
            #expect(result.reads >= 10_000)
            #expect(result.tokens > 10, "the reader was too slow to see much: \(result.tokens)")
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: stage.folder).sorted() == [".token.keep", "token"])
        }
    }

    @Test func `Removes the file on a signal, but still waits for a running exchange`() async throws {
        let stage = try await KeepStage()
        defer { stage.clean() }
        let end = Task {
            let end = await stage.loop.run()
            return (end, hasFinished: stage.store.hasFinishedExchanges)
        }
        _ = try await stage.wait { $0.writes == 1 }
        let (held, release) = AsyncStream.makeStream(of: Void.self)
        stage.service.onRefresh { for await _ in held { return } }
        stage.clock.advance(by: .seconds(2400))
        stage.ring()
        try await stage.service.waitForRefresh()
        for signal in [SIGTERM, SIGINT, SIGINT] { stage.inputs?.yield(.signal(signal)) }
        _ = try await stage.wait { $0.words.last == "stopping" }
        #expect(!FileManager.default.fileExists(atPath: stage.file.path))
        #expect(!stage.store.hasFinishedExchanges)
        release.finish()
        let (ended, hasFinished) = await end.value
        guard case .signal(SIGTERM) = ended else {
            Issue.record("the first signal did not end it")
            return
        }
        #expect(hasFinished)
        #expect(await stage.otherProcess().load().account?.credentials.accessToken.reveal() == stage.service.token)
    }

    @Test func `Writes a valid token once, or reports why no token is available`() async throws {
        let stage = try await KeepStage()
        defer { stage.clean() }
        guard case .served = await stage.loop.run(isOnce: true) else {
            Issue.record("there is a token")
            return
        }
        #expect(stage.text == stage.service.token)
        // A token that is due for renewal is kept if its refresh fails.
        stage.clock.advance(by: .seconds(3000))
        stage.service.isOffline = true
        guard case .served = await stage.anotherLoop().run(isOnce: true) else {
            Issue.record("the token is valid for ten minutes")
            return
        }
        stage.clock.advance(by: .seconds(3000))
        guard case .failed(let error?) = await stage.anotherLoop().run(isOnce: true) else {
            Issue.record("reported no error, although there is no valid token")
            return
        }
        #expect(error.code == .serviceUnavailable)
        #expect(!FileManager.default.fileExists(atPath: stage.file.path))
        _ = try await stage.store.signOut(with: stage.service)
        guard case .failed(nil) = await stage.anotherLoop().run(isOnce: true) else {
            Issue.record("reported an error instead of the sign-out")
            return
        }
    }
}
