import ArgumentParser

/// The sign-in with the identity of a workload.
extension LoginCommand {
    /// Refuses options that are meaningless for a sign-in with the identity of a workload.
    func validateWorkload() throws {
        guard workload != nil else {
            if workloadGrant != nil { throw ValidationError("--workload-grant requires --workload") }
            return
        }
        guard App.acceptsIssuer else {
            throw ValidationError("this tool does not support --workload: its service is fixed")
        }
        let others =
            [("--client-credentials", clientCredentials), ("--client-auth", request.clientAuth != nil)] + userOptions
        if let other = others.first(where: \.isGiven) {
            throw ValidationError("--workload cannot be combined with \(other.name)")
        }
    }
}
