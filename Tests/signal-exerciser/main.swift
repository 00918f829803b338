import AccountCommands
import AccountKit

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

// A process for the tests to send signals to. It does what the lines of its standard input say, and prints one for each:
//
//     begin SECONDS    an exchange begins that may take so long
//     end              one has ended
//     wait             someone is waited for, until `leave`
//     leave
//     interrupted      prints `yes` or `no`
//     ignore NUMBER    ignores a signal from now on
//     handle NUMBER    handles a signal from now on; `handled` prints how often that was
//     handled
//     installed        prints the numbers of the signals that end the process some other way than usual

let numbers = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

// A shell that starts a process in the background has it ignore some of them, and a thread that holds them back has its child
// do that too.
var all = sigset_t()
sigemptyset(&all)
for number in numbers {
    signal(number, SIG_DFL)
    sigaddset(&all, number)
}
pthread_sigmask(SIG_UNBLOCK, &all, nil)

/// Touched by the handler only, and read on the thread that it interrupts.
nonisolated(unsafe) var handledCount = 0

func installed() -> String {
    numbers.filter { number in
        var present = sigaction()
        sigaction(number, nil, &present)
        #if canImport(Darwin)
        return present.__sigaction_u.__sa_handler != nil
        #else
        return present.__sigaction_handler.sa_handler != nil
        #endif
    }.map(String.init).joined(separator: " ")
}

// On the thread that signals are sent to, so that one that was sent has been dealt with before the next line is read.
@MainActor func perform() async {
    while let line = readLine() {
        let words = line.split(separator: " ")
        let argument = words.dropFirst().first.flatMap { Int32($0) } ?? 0
        var response = "done"
        switch words.first {
        case "begin": SignalGuard.shared.exchangeBegan(limit: .seconds(Int(argument)))
        case "end": SignalGuard.shared.exchangeEnded()
        case "wait":
            await SignalGuard.shared.whileWaiting {
                print("done")
                fflush(nil)
                await perform()
            }
        case "leave":
            return
        case "interrupted": response = SignalGuard.shared.isInterrupted ? "yes" : "no"
        case "ignore": signal(argument, SIG_IGN)
        case "handle": signal(argument) { _ in handledCount += 1 }
        case "handled": response = "\(handledCount)"
        case "installed": response = installed()
        default: response = "unknown"
        }
        print(response)
        fflush(nil)
    }
}

await perform()
