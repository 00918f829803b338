import AccountCommands
import AccountKit

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

// A process to which tests send signals. It executes the commands on its standard input, and prints a line for each:
//
//     begin SECONDS    begins an exchange with this time limit
//     end              ends an exchange
//     wait             begins to wait for the user, until `leave`
//     leave
//     interrupted      prints `yes` or `no`
//     ignore NUMBER    ignores a signal from now on
//     handle NUMBER    handles a signal from now on; `handled` prints how often it occurred
//     handled
//     installed        prints the signals whose handling is not the default

let numbers = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

// A shell makes background processes ignore some signals, and a thread that blocks signals passes that on to its child
// processes.
var all = sigset_t()
sigemptyset(&all)
for number in numbers {
    signal(number, SIG_DFL)
    sigaddset(&all, number)
}
pthread_sigmask(SIG_UNBLOCK, &all, nil)

/// The number of handled signals. Only the handler writes this variable, and only the interrupted thread reads it.
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

// Runs on the thread that receives the signals, so that an earlier signal is handled before the next line is read.
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
