import Foundation
import Testing

@Suite(.serialized) struct SignalGuardTests {
    static let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

    @Test func `Without an exchange no handler is installed, and none stays behind`() throws {
        let process = try GuardedProcess()
        #expect(try process.tell("installed") == "")
        try process.tell("begin 60")
        #expect(try process.tell("installed") == Self.signals.map(String.init).joined(separator: " "))
        try process.tell("begin 60")
        try process.tell("end")
        #expect(try process.tell("installed") != "")
        try process.tell("end")
        #expect(try process.tell("installed") == "")
        try process.tell("wait")
        #expect(try process.tell("installed") != "")
        try process.tell("leave")
        #expect(try process.tell("installed") == "")
        #expect(try process.end() == 0)
    }

    @Test(arguments: signals)
    func `A signal ends the process, but not before the last exchange is over`(signal: Int32) throws {
        let process = try GuardedProcess()
        try process.tell("begin 60")
        try process.tell("begin 60")
        #expect(try process.tell("interrupted") == "no")
        process.send(signal)
        #expect(try process.tell("interrupted") == "yes")
        #expect(try process.tell("end") == "done")
        try process.command("end")
        #expect(try process.end() == signal)
    }

    @Test(arguments: signals)
    func `Without an exchange a signal ends the process at once`(signal: Int32) throws {
        let process = try GuardedProcess()
        try process.tell("begin 60")
        try process.tell("end")
        process.send(signal)
        #expect(try process.end() == signal)
    }

    @Test(arguments: [SIGTERM, SIGHUP, SIGQUIT], [false, true])
    func `The first Ctrl-C after another signal does not give up`(signal: Int32, onTerminal: Bool) throws {
        let process = try GuardedProcess(onTerminal: onTerminal)
        try process.tell("begin 60")
        process.send(signal)
        #expect(try process.tell("interrupted") == "yes")
        process.send(SIGINT)
        #expect(try process.tell("interrupted") == "yes")
        try process.command("end")
        #expect(try process.end() == signal)
    }

    @Test func `On a terminal a second Ctrl-C gives up, but not within a second`() throws {
        let process = try GuardedProcess(onTerminal: true)
        try process.tell("begin 60")
        let start = ContinuousClock.now
        process.send(SIGINT)
        _ = try process.errors(until: "at once.")
        #expect(try process.interruptUntilEnd() == SIGINT)
        #expect(start.duration(to: .now) >= .seconds(1))
    }

    @Test func `Without a terminal no Ctrl-C gives up`() throws {
        let process = try GuardedProcess()
        try process.tell("begin 60")
        process.send(SIGINT)
        try #require(try process.tell("interrupted") == "yes")
        // Past the second after which a user at a terminal can give up.
        let end = ContinuousClock.now + .milliseconds(1100)
        while ContinuousClock.now < end {
            process.send(SIGINT)
            try #require(try process.tell("interrupted") == "yes")
        }
        try process.command("end")
        #expect(try process.end() == SIGINT)
    }

    @Test func `Any other signal after the first is held back too, and the first counts`() throws {
        let process = try GuardedProcess()
        try process.tell("begin 60")
        process.send(SIGINT)
        #expect(try process.tell("interrupted") == "yes")
        for signal in [SIGTERM, SIGHUP, SIGQUIT] {
            process.send(signal)
            #expect(try process.tell("interrupted") == "yes")
        }
        try process.command("end")
        #expect(try process.end() == SIGINT)
    }

    @Test func `A signal that is ignored stays so, and one that the process handles is the process's`() throws {
        let process = try GuardedProcess()
        try process.tell("ignore \(SIGHUP)")
        try process.tell("handle \(SIGTERM)")
        try process.tell("begin 60")
        process.send(SIGHUP)
        process.send(SIGTERM)
        #expect(try process.tell("handled") == "1")
        #expect(try process.tell("interrupted") == "no")
        try process.tell("end")
        process.send(SIGHUP)
        process.send(SIGTERM)
        #expect(try process.tell("handled") == "2")
        #expect(try process.end() == 0)
    }

    @Test func `A handler that the process installs meanwhile stays`() throws {
        let process = try GuardedProcess()
        try process.tell("begin 60")
        try process.tell("handle \(SIGTERM)")
        try process.tell("end")
        process.send(SIGTERM)
        #expect(try process.tell("handled") == "1")
        #expect(try process.end() == 0)
    }

    @Test func `A terminal shows what is finished and for how long`() throws {
        let process = try GuardedProcess(onTerminal: true)
        try process.tell("begin 5")
        try process.tell("begin 60")
        process.send(SIGTERM)
        let text = try process.errors(until: " s.")
        #expect(text.contains("Finishing what was sent to the service first, at most 60 s."))
        #expect(try process.tell("interrupted") == "yes")
        // Only Ctrl-C can give up, so only then does the guard say how.
        process.send(SIGINT)
        let advice = try process.errors(until: "at once.")
        #expect(advice.contains("Finishing what was sent to the service first, at most 60 s."))
        #expect(advice.contains("Press Ctrl-C again to stop at once."))
        try process.command("end\nend")
        #expect(try process.end() == SIGTERM)
    }

    @Test func `Without a terminal nothing is said of an exchange`() throws {
        let process = try GuardedProcess()
        try process.tell("begin 60")
        process.send(SIGTERM)
        try process.command("end")
        #expect(try process.end() == SIGTERM)
        #expect(try process.errors(until: "nothing") == "")
    }

    @Test(arguments: signals)
    func `Who gives up waiting is told that it was cancelled`(signal: Int32) throws {
        let process = try GuardedProcess()
        try process.tell("wait")
        process.send(signal)
        #expect(try process.end() == signal)
        #expect(try process.errors(until: "Cancelled.\n") == "Cancelled.\n")
    }

    @Test func `An exchange in the middle of waiting is finished first`() throws {
        let process = try GuardedProcess()
        try process.tell("wait")
        try process.tell("begin 60")
        process.send(SIGINT)
        #expect(try process.tell("interrupted") == "yes")
        try process.command("end")
        #expect(try process.end() == SIGINT)
        #expect(try process.errors(until: "Cancelled.\n") == "Cancelled.\n")
    }
}
