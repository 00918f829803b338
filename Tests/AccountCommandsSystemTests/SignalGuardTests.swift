import Foundation
import Testing

@Suite(.serialized) struct SignalGuardTests {
    static let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

    @Test func `Installs signal handlers only during an exchange`() throws {
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
    func `Ends the process on a deferred signal after the last exchange`(signal: Int32) throws {
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

    @Test func `Never interrupts an exchange on Ctrl-C without a terminal`() throws {
        let process = try GuardedProcess()
        try process.tell("begin 60")
        process.send(SIGINT)
        try #require(try process.tell("interrupted") == "yes")
        // Wait for more than one second, after which a user at a terminal could interrupt the exchange.
        let end = ContinuousClock.now + .milliseconds(1100)
        while ContinuousClock.now < end {
            process.send(SIGINT)
            try #require(try process.tell("interrupted") == "yes")
        }
        try process.command("end")
        #expect(try process.end() == SIGINT)
    }

    @Test func `Defers all signals during an exchange, then ends by the first signal`() throws {
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

    @Test func `Respects ignored signals and the process's own handlers`() throws {
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

    @Test func `Keeps a signal handler that is installed during an exchange`() throws {
        let process = try GuardedProcess()
        try process.tell("begin 60")
        try process.tell("handle \(SIGTERM)")
        try process.tell("end")
        process.send(SIGTERM)
        #expect(try process.tell("handled") == "1")
        #expect(try process.end() == 0)
    }

    @Test func `Shows the time limit of pending requests on a terminal after a signal`() throws {
        let process = try GuardedProcess(onTerminal: true)
        try process.tell("begin 5")
        try process.tell("begin 60")
        process.send(SIGTERM)
        let text = try process.errors(until: " s.")
        #expect(text.contains("Finishing requests to the service first, for at most 60 s."))
        #expect(try process.tell("interrupted") == "yes")
        // Only Ctrl-C can interrupt the exchange, so the guard explains this only after Ctrl-C.
        process.send(SIGINT)
        let advice = try process.errors(until: "at once.")
        #expect(advice.contains("Finishing requests to the service first, for at most 60 s."))
        #expect(advice.contains("Press Ctrl-C again to stop at once."))
        try process.command("end\nend")
        #expect(try process.end() == SIGTERM)
    }

    @Test func `Prints nothing about an exchange without a terminal`() throws {
        let process = try GuardedProcess()
        try process.tell("begin 60")
        process.send(SIGTERM)
        try process.command("end")
        #expect(try process.end() == SIGTERM)
        #expect(try process.errors(until: "nothing") == "")
    }
}
