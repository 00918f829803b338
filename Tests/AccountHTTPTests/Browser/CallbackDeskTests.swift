import AccountKit
import Synchronization
import Testing

@testable import AccountHTTP

@Suite("The desk of a sign-in")
struct CallbackDeskTests {
    private final class Answers: Sendable {
        private let state = Mutex<[CallbackDesk.Answer]>([])
        var all: [CallbackDesk.Answer] { state.withLock(\.self) }
        func add(_ answer: CallbackDesk.Answer) { state.withLock { $0.append(answer) } }
    }

    private let desk = CallbackDesk(expecting: "right")
    private let answers = Answers()

    private func get(_ target: String) {
        desk.receive(LoopbackRequest(method: "GET", target: target, hosts: ["localhost:1"], port: 1)) {
            [answers] in answers.add($0)
        }
    }

    @Test("The first answer with the right state is taken, once")
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
        desk.finish(with: .failed("x"))
        var taken: [AuthorizationResponse] = []
        for await response in desk.responses { taken.append(response) }
        #expect(taken.map(\.code) == [Secret("c")])
    }

    @Test("The result page waits until the result is known, and is there for who asks later")
    func result() {
        get("/callback?error=e&state=right")
        get("/done")
        get("/done")
        #expect(answers.all == [.redirect(to: "/done")])
        desk.finish(with: .refused(nil))
        get("/done")
        #expect(answers.all == [.redirect(to: "/done")] + Array(repeating: .page(.refused(nil)), count: 3))
    }

    @Test("Nothing is taken after the end")
    func ended() async {
        desk.finish(with: .failed("x"))
        get("/callback?code=c&state=right")
        #expect(answers.all == [.page(.usedBefore)])
        #expect(await desk.responses.first { _ in true } == nil)
    }
}
