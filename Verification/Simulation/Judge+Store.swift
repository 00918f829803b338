/// The exceptions for a store that several machines share.
extension Judge {
    /// The lease expired because its holder was silent for longer than an exchange may take.
    func lapsed(_ lease: ProcessLease) {
        let process = lease.process
        // A process that continues has given up on its earlier requests.
        guard process.isStopped || process.isCutOff else { return }
        for (_, spent, _) in process.unwritten { excused.insert(spent) }
        guard process.isStopped else { return }
        // An unsent token must no longer leave the process, so only sent tokens may be lost.
        for turn in world.turns where turn.operation?.lease === lease && !turn.isUnsent { gaveUp(turn.call) }
    }

    /// A machine wrote its replica to the store.
    func writtenBack(_ process: SimulatedProcess) {
        let old = versions.last!.account
        versions.append(readDisk())
        guard let new = versions.last!.account, old?.tokens == new.tokens else {
            return violate(.nobodyElsesSessionIsTouched, "\(process.name) replaced the stored account with its replica")
        }
    }
}
