// The types of Foundation that start quickly, for all modules: on Linux, Foundation itself adds several milliseconds to the
// start of a program.
#if canImport(FoundationEssentials)
@_exported public import FoundationEssentials
#else
@_exported public import Foundation
#endif
