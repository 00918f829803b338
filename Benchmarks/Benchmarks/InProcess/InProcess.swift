import Benchmark

// Benchmarks that are compared have the same text before the colon in their names. All benchmarks run one after the other, several times.
let benchmarks: @Sendable () -> Void = {
    Benchmark.defaultConfiguration = .init(
        metrics: [.wallClock, .throughput], warmupIterations: 3, scalingFactor: .one, maxDuration: .milliseconds(300),
        maxIterations: 20_000)
    readBenchmarks()
    loadBenchmarks()
    saveBenchmarks()
    serviceBenchmarks()
    eventBenchmarks()
}
