#if Offline
public import AccountKit

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension OfflineCollection {
    /// A stored list.
    public struct StoredList: Sendable, Hashable {
        /// The name of the list.
        public let name: String

        /// The number of rows.
        public let count: Int

        /// The date of the last request, or `nil` if the date is unknown.
        public let asOf: Date?

        /// The size of the rows on the disk, in bytes. A row in several lists counts in each list.
        public let byteCount: Int
    }

    /// Returns the stored lists.
    public func storedLists() async throws(AccountError) -> [StoredList] {
        try await errors {
            var found: [StoredList] = []
            for list in try await lists.all() {
                let name = list.record.name
                found.append(
                    StoredList(
                        name: name, count: try await lists.count(of: name).all, asOf: known(list.asOf),
                        byteCount: try await lists.byteCount(of: name)))
            }
            return found
        }
    }
}
#endif
