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

    @Test("Accepts no response after the end of the sign-in")
    func ended() async {
        receiver.finish(with: .failed("x"))
        get("/callback?code=c&state=right")
        #expect(answers.all == [.page(.usedBefore)])
        #expect(await receiver.responses.first { _ in true } == nil)
    }
}
