/// What is excused, and what is not, at a store that many machines share.
extension Judge {
    /// A lease is over, of whose holder nothing was heard for longer than an exchange may take.
    func lapsed(_ lease: ProcessLease) {
        let process = lease.process
        // Whoever goes on has let go of what it had sent.
        guard process.isStopped || process.isCutOff else { return }
        for (_, spent, _) in process.unwritten { excused.insert(spent) }
        guard process.isStopped else { return }
        // A token that has not left the process must not leave it any more.
        for turn in world.turns where turn.operation?.lease === lease && !turn.isUnsent { gaveUp(turn.call) }
    }

    /// A replica was put in place of what is stored.
    func writtenBack(_ process: SimulatedProcess) {
        let old = versions.last!.account
        versions.append(readDisk())
        guard let new = versions.last!.account, old?.tokens == new.tokens else {
            return violate(.nobodyElsesSessionIsTouched, "\(process.name) put its replica in place of what is stored")
        }
    }
}
