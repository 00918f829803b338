import ArgumentParser

/// A number of seconds, which the help shows without a fraction of zero.
struct Seconds: ExpressibleByArgument {
    var count: Double

    var defaultValueDescription: String { count == count.rounded() ? String(Int64(count)) : String(count) }

    init(_ count: Double) { self.count = count }

    init?(argument: String) {
        guard let count = Double(argument) else { return nil }
        self.count = count
    }
}

extension Double? {
    /// Throws an error if the value of an option is not a number of seconds.
    package func checkSeconds(of option: String) throws {
        guard let self, self < 0 || !self.isFinite else { return }
        throw ValidationError("\(option) requires a number of seconds, 0 or more")
    }

    /// A number of seconds as a duration, which has a smaller range.
    package var seconds: Duration? { map { .seconds(Swift.min($0, 1e12)) } }
}
