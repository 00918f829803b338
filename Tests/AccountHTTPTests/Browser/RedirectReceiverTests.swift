import AccountKit
import Synchronization
import Testing

@testable import AccountHTTP

@Suite("The redirect receiver")
struct RedirectReceiverTests {
    private final class Answers: Sendable {
        private let state = Mutex<[RedirectReceiver.Response]>([])
        var all: [RedirectReceiver.Response] { state.withLock(\.self) }
        func add(_ answer: RedirectReceiver.Response) { state.withLock { $0.append(answer) } }
    }

    private let receiver = RedirectReceiver(expecting: "right")
    private let answers = Answers()

    private func get(_ target: String) {
        receiver.receive(LoopbackRequest(method: "GET", target: target, hosts: ["localhost:1"], port: 1)) {
            [answers] in answers.add($0)
        }
    }

    @Test("Accepts only the first response with the right state")
    func once() async {
        let others = ["/callback?code=a&state=wrong", "/callback?code=b", "/callback?code=%", "/done", "/"]
        for target in others { get(target) }
        get("/callback?code=c&state=right")
        get("/callback?code=d&state=right")
        get("/callback?code=e&state=wrong")
        #expect(
            answers.all == [
                .page(.wrongState), .page(.wrongState), .page(.badRequest), .page(.notFound), .page(.notFound),
                .redirect(to: "/done"), .page(.usedBefore), .page(.usedBefore),
            ])
        receiver.finish(with: .failed("x"))
        var taken: [AuthorizationResponse] = []
        for await response in receiver.responses { taken.append(response) }
        #expect(taken.map(\.code) == [Secret("c")])
    }

    @Test("Delivers the result page to all requests after the result is known")
    func result() {
        get("/callback?error=e&state=right")
        get("/done")
        get("/done")
        #expect(answers.all == [.redirect(to: "/done")])
        receiver.finish(with: .refused(nil))
        get("/done")
        #expect(answers.all == [.redirect(to: "/done")] + Array(repeating: .page(.refused(nil)), count: 3))
    }

    @Test func `Gives a repeated response the result of the first one`() async {
        get("/callback?code=c&state=right")
        get("/callback?code=c&state=right")
        get("/done")
        #expect(receiver.finish(with: .refused(nil)))
        get("/callback?state=right&code=c")
        get("/done")
        let others = ["code=d&state=right", "code=c&state=wrong", "code=c", "code=c&state=right&iss=a", "state=right"]
        for query in others { get("/callback?" + query) }
        #expect(
            answers.all == [
                .redirect(to: "/done"), .redirect(to: "/done"), .page(.refused(nil)), .redirect(to: "/done"),
                .page(.refused(nil)),
            ] + Array(repeating: .page(.usedBefore), count: others.count))
        var taken: [AuthorizationResponse] = []
        for await response in receiver.responses { taken.append(response) }
        #expect(taken.map(\.code) == [Secret("c")])
    }

    @Test func `Waits for a browser that repeats a pasted response`() throws {
        let pasted = try #require(AuthorizationResponse(query: "code=c&state=right"))
        #expect(receiver.accept(pasted, isAwaited: false) == .accepted)
        get("/done")
        get("/callback?code=c&state=right")
        get("/done")
        #expect(receiver.accept(pasted, isAwaited: false) == .repeated)
        #expect(answers.all == [.page(.notFound), .redirect(to: "/done")])
        #expect(receiver.finish(with: .refused(nil)))
        #expect(answers.all.last == .page(.refused(nil)))
    }

    @Test("Accepts no response after the end of the sign-in")
    func ended() async {
        receiver.finish(with: .failed("x"))
        get("/callback?code=c&state=right")
        #expect(answers.all == [.page(.usedBefore)])
        #expect(await receiver.responses.first { _ in true } == nil)
    }
}
