import Benchmark

// Compared benchmarks share the part of the name before the colon. They run one after the other, and all of them several times.
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
