/*
 * The life of a session, small enough to explore completely: two programs that share one archive, the service, and an
 * environment in which failures can occur at any time. README.md lists the claims, the omissions, and the code of each part.
 *
 * The labels of `Program` are the steps of the session flows in Sources/AccountKit/Session. Each `atomic` is one step: at
 * most one visible change, or one exchange with the service. Between two steps, the other processes can take any steps, and the
 * program can die. An invisible action under Account.lock, such as reading, is part of the following or previous step. If a lock can
 * be lost, each write is a separate step (`THEN`).
 *
 * Each option (-D) makes one mistake, to show that the model detects it. check.sh lists them.
 */

#ifndef FIRST
#define FIRST 2                 /* the number of consecutive operations of the first program */
#endif
#ifndef SECOND
#define SECOND 2                /* the same for the second program */
#endif
#ifndef FAULTS
#define FAULTS 2                /* the number of failing writes; each save is tried twice, so fewer would not fail any */
#endif
#ifndef DEATHS
#define DEATHS 1                /* how often each program can die */
#endif
#ifndef LEAVES
#define LEAVES 1                /* whether callers leave before they have their result */
#endif
#ifndef DERIVATIONS
#define DERIVATIONS 1           /* whether tokens for other APIs are requested */
#endif

/* With -DONLY=n only property n is checked. */
#ifdef ONLY
#define require(property, condition) assert(property != ONLY || (condition))
#else
#define require(property, condition) assert(condition)
#endif

/*
 * A store that many machines share: a holder's locks expire, and each write checks that it still holds them. Without FENCED
 * a write compares only revisions, and a lock is lost once.
 */
#ifdef FENCED
#define LOSES_LOCKS
#endif

/* A transaction is two steps, a read and a write, and the program can die after each write. */
#ifdef LOSES_LOCKS
#define THEN(label) } label: atomic {
#else
#define THEN(label) label:
#endif

/* ---- The service: a grant has one valid refresh token at a time, and ends if a spent one is sent again. */

/* Grant 1 belongs to the user who is signed in at the start, grant 2 comes from the next sign-in. */
#define NOBODY 0
#define GRANTS 3

mtype:ending = { LIVE, BY_ADMINISTRATOR, BY_REUSE, BY_REVOCATION };
mtype:ending ending[GRANTS] = LIVE;

byte newest[GRANTS];            /* the tokens of a grant are numbered from 0; this one is valid */
bool isIssued = false;          /* whether grant 2 exists */

/* A request in transit whose sender died or gave up. */
byte lateGrant = NOBODY, lateToken;

/* ---- The archive: the disk, and the two locks. */

#define FREE 0
#define FORGOTTEN 9
byte lock = FREE;               /* Account.lock: its holder's `me + 1` */
byte lease = FREE;              /* Refresh.lock: the same */
byte storedGrant = 1, storedToken = 0;
bool hasKey = true;             /* whether the key that the tokens are bound to is stored beside them */
bool intent = false;            /* Refresh.plist */
byte queue[GRANTS];             /* Revocation-n.plist: bit t stands for token t of the grant */
byte faults = FAULTS;

/*
 * Revisions are compared only with the stored one. Instead of a number, there is a bit for each revision that a program
 * remembers: whether it is still the stored one.
 */
bool isRead[2];                 /* the revision that was read under the lock */

/* ---- The memory of the processes: tokens that could not be saved. */

#ifdef ONE_PROCESS
#define home 0                  /* the two programs are tasks of one process */
#else
#define home me
#endif

byte unsavedGrant[2], unsavedToken[2];
bool isUnsaved[2];              /* whether the tokens that were spent for them are still stored */
bool hasLaterIntent[2];         /* these tokens were sent later, and the record is about them */

/* ---- Variables that only the properties use. */

byte lastSaved[GRANTS];         /* the newest token that was ever on the disk */
bool excused[GRANTS];           /* new tokens were lost in transit, or could not be written: reuse may follow */
bool isLost[GRANTS];            /* the same, for the newest one or its queue entry */
byte inHand[2] = NOBODY;        /* the grant whose newest token the program has or will receive */
bool signedOut[GRANTS];         /* by the user or a new sign-in, while the disk did not fail to queue the revocation */
bool isTold[GRANTS];            /* the service has received the revocation of one of its tokens */
byte finished = 0;

/* ---- The service's actions. */

mtype:answer = { NONE, TOKENS, INVALID_GRANT };

inline redeem(grant, token, reply) {
    if
    :: ending[grant] == LIVE && token == newest[grant] ->
        newest[grant]++;
        isLost[grant] = false;
        reply = TOKENS
    :: ending[grant] == LIVE && token != newest[grant] ->
        require(2, excused[grant]);
        ending[grant] = BY_REUSE;
        reply = INVALID_GRANT
    :: ending[grant] != LIVE -> reply = INVALID_GRANT
    fi
}

/* Revoking any token of a grant ends it; at some services a spent token does not. */
inline revoke(grant, token) {
    isTold[grant] = true;
    if
    :: ending[grant] == LIVE -> endBy(grant)
    :: ending[grant] == LIVE && token != newest[grant]
    :: ending[grant] != LIVE
    fi
}

#ifdef ONE_USER
/*
 * Both grants belong to the same user, and the service ends all of them at once. A sign-in cannot prevent the effect of a
 * revocation that is already in transit.
 */
bool isTelling[2];
#define TELL isTelling[me] = true; goto revoking
#define IS_TOLD isTelling[me] = false

inline endBy(grant) {
    ending[1] = (ending[1] == LIVE -> BY_REVOCATION : ending[1]);
    ending[2] = (ending[2] == LIVE && isIssued -> BY_REVOCATION : ending[2]);
    excused[2] = excused[2] || inHand[0] == 2 || inHand[1] == 2
}
#else
#define TELL goto revoking
#define IS_TOLD skip

inline endBy(grant) {
    ending[grant] = BY_REVOCATION
}
#endif

/* ---- Steps that several flows share. */

/* Continues in the same step at the shared code. */
#define finish() goto finishing
#define adopt() goto adopting
#define MAY_DIE if :: deaths > 0 -> goto dying :: true fi

/* A write or removal that fails. */
#define DISK_FAILS (faults > 0) -> faults--

#ifdef WITHOUT_LOCK
#define TAKE_LOCK (true)
#else
#define TAKE_LOCK (lock == FREE) -> lock = me + 1
#endif

#ifdef WITHOUT_LEASE
#define TAKE_LEASE (true)
#else
#define TAKE_LEASE (lease == FREE) -> lease = me + 1
#endif

#ifdef FENCED
#define FORGET_LEASE hasLease = false
#else
#define FORGET_LEASE skip
#endif

/* A token exchange spends no token. Otherwise the token before the reply's was spent. */
#define SPENT (token - !isExchange)
#ifdef DERIVATION_WITHOUT_INTENT
#define IS_RECORDED !isDerivation
#else
#define IS_RECORDED !isExchange
#endif

/* A request is in transit: no other operation may have to wait for it, unless it wants the same. */
#define REQUEST require(9, lock != me + 1)

/* Whether the writer still holds the locks of the write. It acquires a lock again only after it has released the previous
 * one. */
#if defined(FENCED) && !defined(WITHOUT_FENCE)
#define IS_HELD (lock == me + 1 && (!hasLease || lease == me + 1))
#else
#define IS_HELD (true)
#endif

/* Whether the stored account is unchanged since it was read. If locks cannot be lost, the account is always unchanged. */
#if defined(WITHOUT_REVISIONS) || defined(WITHOUT_LOCK)
#define IS_UNCHANGED IS_HELD
#else
#define IS_UNCHANGED (isRead[me] && IS_HELD)
#endif
#ifdef LOSES_LOCKS
#define CONFLICT (!IS_UNCHANGED)
#endif

/* AccountArchive.load(): unsaved tokens replace the tokens that were spent for them. */
inline load(grant, token) {
    if
    :: isUnsaved[home] -> grant = unsavedGrant[home]; token = unsavedToken[home]
    :: else -> grant = storedGrant; token = storedToken
    fi
}

/* AccountArchive.load(in:) */
inline read(grant, token) {
    load(grant, token);
    isRead[me] = true
}

/* Every write creates a revision that no program has read. */
inline replaceAccount(grant, token) {
    isUnsaved[0] = isUnsaved[0] && storedGrant == grant && storedToken == token;
    isUnsaved[1] = isUnsaved[1] && storedGrant == grant && storedToken == token;
    storedGrant = grant;
    storedToken = token;
    isRead[0] = false; isRead[1] = false
}

/* A save without a sign-in. It may only replace the same or older tokens of the same grant. */
inline commit(grant, token) {
    require(3, storedGrant == grant && storedToken <= token);
    replaceAccount(grant, token);
#ifdef KEY_LOST
    hasKey = false;
#endif
    lastSaved[grant] = token;
    isLost[grant] = isLost[grant] && token != newest[grant]
}

/* The service rejects the session. This must concern the stored tokens, and not be caused by the programs. */
inline clearSinceEnded(grant, token) {
    require(1, storedGrant == grant && (storedToken == token || (isUnsaved[home] && unsavedToken[home] == token)));
    require(1, ending[grant] == BY_ADMINISTRATOR || (ending[grant] != LIVE && excused[grant]));
    replaceAccount(NOBODY, 0)
}

/* A caller or the service receives an access token. */
inline use(grant, token) {
    require(4, token <= lastSaved[grant] || (unsavedGrant[home] == grant && unsavedToken[home] == token))
}

#define isQueued(grant, token) ((queue[grant] >> token) & 1)
#define enqueue(grant, token) queue[grant] = queue[grant] | (1 << token)
#define unqueue(grant, token) queue[grant] = queue[grant] & ~(1 << token)

/* A record that is not removed is harmless, so removing it may fail. */
inline forgetIntent() {
    if
    :: intent ->
        if
        :: DISK_FAILS
        :: IS_HELD -> intent = false
#ifdef FENCED
        :: !IS_HELD
#endif
        fi
    :: else
    fi
}

/* AccountArchive.save: tokens that could not be saved before are saved now, which resolves their record. */
inline settleUnsaved() {
    if
#ifdef SAVE_FORGETS_LATER_INTENT
    :: isUnsaved[home] -> intent = false
#else
    :: isUnsaved[home] && !hasLaterIntent[home] -> intent = false
#endif
    :: else
    fi
}

/* A program has the valid token or can revoke it, unless the programs are not at fault. */
#define isKnown(grant) (ending[grant] != LIVE || (storedGrant == grant && storedToken == newest[grant]) \
    || isQueued(grant, newest[grant]) || inHand[0] == grant || inHand[1] == grant || isLost[grant])
#define isRevoked(grant) (!signedOut[grant] || queue[grant] != 0 || ending[grant] != LIVE || isTold[grant])

/* Invariants whenever the lock is free. */
inline checkAtRest() {
#if defined(LOSES_LOCKS) && !defined(FENCED)
    skip
#else
    if
    :: lock == FREE ->
        /* If the stored refresh token is spent, there is a record. */
        require(1, storedGrant == NOBODY || storedToken == newest[storedGrant] || intent);
        require(3, storedGrant == NOBODY || hasKey);
        require(7, isRevoked(1) && isRevoked(2));
        require(8, isKnown(1) && (!isIssued || isKnown(2)))
    :: else
    fi
#endif
}

inline unlock() {
    if
    :: lock == me + 1 -> lock = FREE; checkAtRest()
    :: else
    fi;
    isRead[me] = false
}

/* The stored content is the result, even if it is empty. */
inline adoptUnlessGone() {
    if
    :: readGrant == NOBODY -> finish()
    :: else -> adopt()
    fi
}

inline endLease() {
    if
    :: lease == me + 1 -> lease = FREE
    :: else
    fi;
    FORGET_LEASE
}

inline forgetMemory() {
    unsavedGrant[home] = NOBODY; unsavedToken[home] = 0; hasLaterIntent[home] = false; isUnsaved[home] = false
}

proctype Program(byte me; byte operations) {
    byte deaths = DEATHS;

    /* The account of the operation, and the account that it is compared with. */
    byte grant, token, readGrant, readToken;
    mtype:answer reply = NONE;
    bool isHeld;                /* an exchange is in progress: ExchangeObserver */
    bool isCheck, afterRefusal, justRefreshed, isRetry, hadIntent, queueFailed;
    bool isDerivation;          /* a token for another API is requested */
    bool isExchange;            /* and is obtained in exchange for the access token */
#ifdef LOSES_LOCKS
    byte conflicts;             /* how often its locks were lost by the time new tokens had arrived */
#endif
#ifdef FENCED
    bool hasLease;              /* its transactions belong to a refresh */
#endif

/* Chooses the next operation, independently of the previous one. */
choosing:
    atomic {
        if
        :: deaths > 0 ->
            /*
             * The first signal ends a program that does not hold signals back; SIGKILL, a second Ctrl-C or a power cut ends
             * any program. The kernel releases its locks. Its memory is lost, including a reply that was not written.
             */
dying:
            deaths--;
            if
#ifdef SIGNAL_NOT_HELD
            :: true
#else
            :: !isHeld
#endif
            :: isHeld ->
                excused[inHand[me]] = true;
                isLost[inHand[me]] = true
            fi;
            forgetMemory();
            finish()
        :: true
        fi;
        if
        :: operations > 0 -> operations--
        :: operations == 0 ->
#ifndef ONE_PROCESS
            forgetMemory();
#endif
            finished++;
            goto done
        fi;
        if
        /* AccountStore.checkSession; the token may appear expired. */
        :: true ->
            isCheck = true;
            load(grant, token);
            if
            :: grant == NOBODY -> finish()
            :: grant != NOBODY -> goto verifying
            :: grant != NOBODY -> goto leasing
            fi
        /* AccountStore.refresh, accessToken */
        :: true ->
            load(grant, token);
            if
            :: grant == NOBODY -> finish()
            :: grant != NOBODY -> goto leasing
            fi
        /* AccountStore.accessToken(for:), by a refresh or by a token exchange */
        :: DERIVATIONS ->
            load(grant, token);
            if
            :: grant == NOBODY -> finish()
            :: grant != NOBODY -> isDerivation = true; goto leasing
            :: grant != NOBODY -> isDerivation = true; isExchange = true; goto leasing
            fi
        /* AccountStore.signIn */
        :: !isIssued -> goto exchanging
        /* AccountStore.signOut */
#ifdef SIGN_OUT_TAKES_LEASE
        :: TAKE_LEASE;
            goto signingOut
#else
        :: TAKE_LOCK;
            goto signingOut
#endif
        /* AccountStore.deliverRevocations; any of several may be the first */
        :: queue[1] != 0 -> grant = 1; goto delivering
        :: queue[2] != 0 -> grant = 2; goto delivering
        fi
    }

/* ---- CheckFlow */

verifying:
    atomic {
        MAY_DIE;
        REQUEST;
        use(grant, token);
        if
        :: ending[grant] == LIVE -> goto comparingToStore
        /* An app's own authority may reject the session definitely. */
        :: ending[grant] != LIVE -> goto comparingToClearChecked
        /* 401, because the token has expired or the grant has ended. */
        :: !justRefreshed -> afterRefusal = true; goto leasing
        /* No response or an unclear one, or the caller has left. */
        :: true -> finish()
        fi
    }
comparingToStore:
    atomic {
        TAKE_LOCK;
        read(readGrant, readToken);
        if
        :: readGrant == grant && readToken == token -> readGrant = NOBODY; readToken = 0; goto storing
        /* The service's response does not concern tokens that were replaced in the meantime. */
        :: else ->
            if
            :: justRefreshed -> finish()
            :: !justRefreshed -> adoptUnlessGone()
            fi
        fi
    }
storing:
    atomic {
        MAY_DIE;
        if
        :: DISK_FAILS
        :: IS_UNCHANGED -> settleUnsaved(); commit(grant, token)
#ifdef LOSES_LOCKS
        :: CONFLICT
#endif
        fi;
        finish()
    }
comparingToClearChecked:
    atomic {
        TAKE_LOCK;
        read(readGrant, readToken);
        if
#ifdef CLEAR_WITHOUT_COMPARING
        :: goto clearingChecked
#else
        :: readGrant == grant && readToken == token -> goto clearingChecked
        :: else -> finish()
#endif
        fi
    }
clearingChecked:
    atomic {
        MAY_DIE;
        if
        :: DISK_FAILS
        :: IS_UNCHANGED -> clearSinceEnded(grant, token)
#ifdef LOSES_LOCKS
        :: CONFLICT
#endif
        fi;
        finish()
    }

/* ---- RefreshFlow */

leasing:
    atomic {
        if
#ifdef FENCED
        :: TAKE_LEASE; hasLease = true
#else
        :: TAKE_LEASE
#endif
#ifdef DERIVATION_WITHOUT_LEASE
        :: isDerivation
#endif
        /* The caller timed out, and nothing was begun. */
        :: LEAVES -> finish()
        fi
    }
/* The endpoint is looked up, and the connection is open. Nothing is sent or recorded yet. */
connecting:
    atomic {
        MAY_DIE;
        REQUEST;
        if
        /* The service cannot be reached, or the caller has left. */
        :: finish()
        :: true
        fi
    }
comparing:
    atomic {
        TAKE_LOCK;
        read(readGrant, readToken);
        if
#ifdef WITHOUT_READING_AGAIN
        :: true
#else
        :: readGrant == grant && readToken == token
#endif
        :: readGrant == NOBODY -> finish()
        /* The access token may be unchanged if a refresh token was spent for another API's token. */
        :: DERIVATIONS && readGrant == grant && readToken != token -> token = readToken
        /* Another program has obtained the requested token, or another user has signed in. */
        :: isDerivation && readGrant != NOBODY -> finish()
        :: !isDerivation && readGrant != NOBODY && (readGrant != grant || readToken != token) ->
            /* The tokens that another program stored are the result. The service has not confirmed them here. */
adopting:
            grant = readGrant;
            token = readToken;
            readGrant = NOBODY; readToken = 0; reply = NONE; isHeld = false; hadIntent = false;
            unlock();
            endLease();
            if
            :: isCheck -> justRefreshed = true; afterRefusal = false; goto verifying
            :: !isCheck -> use(grant, token); finish()
            fi
        fi;
        readGrant = NOBODY; readToken = 0
    }
withdrawing:
    atomic {
        MAY_DIE;
#ifndef QUEUE_OUTLIVES_REFRESH
        /* A sign-out died before it cleared the account, so it had no effect. Its revocation would end the renewed
         * session. */
        if
        :: isQueued(grant, token) ->
            if
            :: DISK_FAILS; finish()
            :: IS_HELD -> unqueue(grant, token)
#ifdef FENCED
            :: !IS_HELD -> finish()
#endif
            fi;
            MAY_DIE
        :: else
        fi;
#endif
#ifdef SEND_BEFORE_RESERVE
        goto recording;
#endif
    THEN(preparing)
        if
        :: DISK_FAILS;
            require(5, reply != TOKENS);
#ifdef LOCK_IS_FORGOTTEN
            lock = FORGOTTEN;
#endif
#ifdef LEASE_IS_FORGOTTEN
            lease = FORGOTTEN;
#endif
            finish()
        :: IS_HELD
#ifdef FENCED
        :: !IS_HELD -> finish()
#endif
        fi;
#ifdef SEND_BEFORE_RESERVE
        if
        :: reply == TOKENS -> goto saving
        :: else
        fi;
#endif
    THEN(recording)
        if
        :: isExchange ->
#ifndef LEASE_IS_ACCOUNT_LOCK
            unlock();
#endif
            goto exchangingToken
#ifdef DERIVATION_WITHOUT_INTENT
        :: isDerivation && !isExchange
#endif
        :: IS_RECORDED && DISK_FAILS; finish()
#ifdef FENCED
        :: IS_RECORDED && !IS_HELD -> finish()
#endif
        /* The intent of a refused derivation is its own. */
        :: IS_RECORDED && IS_HELD -> hadIntent = (isHeld -> hadIntent : intent); intent = true; hasLaterIntent[home] = isUnsaved[home]
        fi;
        isHeld = true;
#ifndef LEASE_IS_ACCOUNT_LOCK
        unlock()
#endif
    }
requesting:
    atomic {
        MAY_DIE;
        REQUEST;
#if defined(FENCED) && !defined(SENDS_UNDER_LOST_LEASE)
        /* ArchiveLease.lasts(for:): the program was stopped since it acquired the lease, and another may have sent the
         * token. */
        if
        :: lease == me + 1
        :: lease != me + 1 && hadIntent -> finish()
        :: lease != me + 1 && !hadIntent -> goto forgetting
        fi;
#endif
    THEN(sending)
#if defined(FENCED) && !defined(SENDS_UNDER_LOST_LEASE) && !defined(SENDS_AFTER_STOP)
        /* ArchiveLease.isHeld(for:), with the first byte: the program was stopped after that check. */
        if
        :: lease == me + 1
        :: lease != me + 1 && hadIntent -> finish()
        :: lease != me + 1 && !hadIntent -> goto forgetting
        fi;
#endif
        if
        /* The service was not reached, or definitely did nothing. An earlier request with a record may have succeeded. */
#ifdef FORGET_EARLIER_INTENT
        :: goto forgetting
#else
        :: hadIntent -> finish()
        :: !hadIntent -> goto forgetting
#endif
#ifdef REFUSED_DERIVATION_CLEARS
        :: isDerivation -> goto comparingToClear
#endif
        /* No reply or an unclear reply, and the service did nothing. The record is kept: the token may be spent. */
#ifdef FORGET_UNLESS_SILENT
        :: !hadIntent -> goto forgetting
#endif
        :: true -> finish()
        /* Or the service carries out the request later, even if the sender dies now or its deadline passes. */
        :: lateGrant == NOBODY ->
            lateGrant = grant; lateToken = token; excused[grant] = true;
#ifdef FORGET_UNLESS_SILENT
            if
            :: !hadIntent -> goto forgetting
            :: else
            fi;
#endif
            finish()
        /* The request takes effect now, and the reply arrives at any time. */
        :: redeem(grant, token, reply);
            if
            :: reply == TOKENS -> inHand[me] = grant
            :: else
            fi
        /* The service does not issue this token for another API. It rejects the refresh token, without spending it. */
        :: isDerivation && ending[grant] == LIVE && token == newest[grant] -> reply = INVALID_GRANT
        fi
    }
receiving:
    atomic {
        MAY_DIE;
        REQUEST;
        if
#ifdef EXCHANGE_CUT_OFF
        :: finish()
#else
        /* The caller leaves, with "unverified". */
        :: LEAVES && isCheck -> isCheck = false; afterRefusal = false; justRefreshed = false; goto receiving
#endif
        /* The reply is lost, or the deadline passes. */
        :: reply == TOKENS -> excused[grant] = true; isLost[grant] = true; finish()
        :: reply == INVALID_GRANT -> finish()
        :: reply == TOKENS ->
            token++;
#ifdef USE_BEFORE_SAVE
            use(grant, token);
#endif
#ifdef DERIVATION_REFUSAL_DECIDES
        :: reply == INVALID_GRANT -> goto comparingToClear
#else
        :: reply == INVALID_GRANT && !isDerivation -> goto comparingToClear
        /* The rejection may concern only this request: the response to a plain refresh decides. */
        :: reply == INVALID_GRANT && isDerivation -> isDerivation = false; reply = NONE; goto connecting
#endif
        fi
    }
comparingToCommit:
    atomic {
        TAKE_LOCK;
        read(readGrant, readToken);
#ifdef SEND_BEFORE_RESERVE
        goto preparing;
#endif
#ifndef COMMIT_WITHOUT_COMPARING
        if
        :: readGrant == grant && readToken == SPENT
        :: isExchange && (readGrant != grant || readToken != token) -> finish()
        :: else -> goto queueingOrphan
        fi
#endif
    }
saving:
    atomic {
        MAY_DIE;
        readGrant = NOBODY; readToken = 0;
#if !defined(QUEUE_OUTLIVES_REFRESH) && !defined(QUEUE_OUTLIVES_EXCHANGE)
        /* A sign-out has died in between. As above, but this program has new tokens, which it must save in any case. */
        if
        :: isQueued(grant, SPENT) ->
            if
            :: DISK_FAILS; excused[grant] = excused[grant] || !isExchange
            :: IS_HELD -> unqueue(grant, SPENT)
#ifdef FENCED
            :: !IS_HELD
#endif
            fi;
            MAY_DIE
        :: else
        fi;
#endif
        if
        :: DISK_FAILS;
            if
            :: !isRetry -> isRetry = true; goto saving
            :: isRetry && !isExchange -> goto keeping
            /* Another token can be obtained. */
            :: isRetry && isExchange -> finish()
            fi
        :: IS_UNCHANGED ->
            settleUnsaved();
#ifdef DERIVATION_DROPS_REFRESH_TOKEN
            token = (isDerivation -> SPENT : token);
#endif
            commit(grant, token);
            reply = NONE; inHand[me] = NOBODY; isHeld = false
#ifdef LOSES_LOCKS
        :: CONFLICT -> goto renewingLease
#endif
        fi;
    THEN(forgettingRenewed)
        MAY_DIE;
#ifdef EXCHANGE_FORGETS_INTENT
        forgetIntent();
#else
        /* The rejection concerns the refresh token, which an exchange does not use. */
        if
        :: isExchange
        :: else -> forgetIntent()
        fi;
#endif
        unlock();
        endLease();
        use(grant, token);
        if
        :: isCheck && afterRefusal ->
            justRefreshed = true; afterRefusal = false; isRetry = false; hadIntent = false;
#ifdef LOSES_LOCKS
            conflicts = 0;
#endif
            goto verifying
        :: else -> finish()
        fi
    }
#ifdef LOSES_LOCKS
/* Lost locks are acquired again: the lock, and the lease if it expired. */
renewingLease:
    atomic {
        MAY_DIE;
        readGrant = NOBODY; readToken = 0; isRetry = false;
        conflicts++;
        unlock();
#ifdef GIVES_UP_WITH_THE_LOCK
        conflicts = 3;
#endif
        if
        :: conflicts == 3 && isExchange -> finish()
        :: conflicts == 3 && !isExchange -> isRead[me] = storedGrant == grant && storedToken == SPENT; goto keeping
        :: conflicts < 3
        fi;
#ifdef FENCED
#ifdef RENEWS_A_LEASE_THAT_IS_HELD
        endLease()
#else
        if
        :: lease == me + 1 -> goto comparingToCommit
        :: else
        fi
#endif
    }
leasingAgain:
    atomic {
        if
        :: TAKE_LEASE
        /* Another program's refresh takes too long. */
        :: lease != FREE && isExchange -> finish()
        :: lease != FREE && !isExchange -> isRead[me] = storedGrant == grant && storedToken == SPENT; goto keeping
        fi;
#endif
        goto comparingToCommit
    }
#endif
keeping:
    atomic {
        unsavedGrant[home] = grant;
        unsavedToken[home] = token;
        hasLaterIntent[home] = false;
        isUnsaved[home] = isRead[me];
#ifndef GIVES_UP_WITH_THE_LOCK
        /* The disk failed to save them, or the locks were lost repeatedly. */
        excused[grant] = true;
        isLost[grant] = true;
#endif
        use(grant, token);
        finish()
    }
comparingToClear:
    atomic {
        TAKE_LOCK;
        read(readGrant, readToken);
        if
#ifdef REFRESH_CLEARS_WITHOUT_COMPARING
        :: true
#else
        :: readGrant == grant && readToken == token
        :: else -> adoptUnlessGone()
#endif
        fi
    }
clearing:
    atomic {
        MAY_DIE;
        if
        :: DISK_FAILS; finish()
        :: IS_UNCHANGED -> clearSinceEnded(grant, token)
#ifdef LOSES_LOCKS
        :: CONFLICT -> finish()
#endif
        fi;
    THEN(forgettingCleared)
        MAY_DIE;
        forgetIntent();
        finish()
    }
forgetting:
    atomic {
        TAKE_LOCK;
        MAY_DIE;
        forgetIntent();
        finish()
    }

/* A token for another API in exchange for the access token: nothing is spent, whatever the result. */
exchangingToken:
    atomic {
        MAY_DIE;
        REQUEST;
        use(grant, token);
        if
        :: goto comparingToCommit
        /* Refused, not reached, or the reply is lost. */
#ifdef REFUSED_EXCHANGE_CLEARS
        :: goto comparingToClear
#endif
        :: true -> finish()
        fi
    }

/* No program needs the new tokens of a refresh or sign-in any more: the service revokes them. */
queueingOrphan:
    atomic {
        MAY_DIE;
#ifdef LATE_TOKENS_DROPPED
        if
        :: lease == me + 1 -> finish()
        :: else
        fi;
#endif
#ifdef INTERRUPTED_SIGN_IN_DROPPED
        if
        :: lease != me + 1 -> finish()
        :: else
        fi;
#endif
#if defined(ONE_USER) && !defined(ORPHAN_ENDS_OTHER_GRANT)
        /* A refresh drops tokens whose revocation would end the user's later sign-in; a sign-in queues them. */
        if
        :: readGrant != NOBODY && readGrant != grant && lease == me + 1 -> isLost[grant] = true; finish()
        :: else
        fi;
#endif
        if
        :: DISK_FAILS; isLost[grant] = true
        :: IS_HELD -> enqueue(grant, token)
#ifdef FENCED
        :: !IS_HELD && hasLease && conflicts < 2 -> goto renewingLease
        :: !IS_HELD && !(hasLease && conflicts < 2) -> isLost[grant] = true
#endif
        fi;
        inHand[me] = NOBODY; isHeld = false; reply = NONE;
    THEN(forgettingOrphaned)
        MAY_DIE;
        if
#ifdef FENCED
        /* Another program may hold the lease by now. */
        :: lease == me + 1 && conflicts == 0 -> forgetIntent()
#else
        :: lease == me + 1 -> forgetIntent()
#endif
        :: else
        fi;
        isCheck = false; afterRefusal = false; justRefreshed = false; isRetry = false; hadIntent = false;
        isDerivation = false; isExchange = false;
#ifdef LOSES_LOCKS
        conflicts = 0;
#endif
        unlock();
        endLease();
#if defined(ONE_USER) && !defined(ORPHAN_ENDS_OTHER_GRANT)
        if
        :: readGrant != NOBODY && readGrant != grant -> finish()
        :: else
        fi;
#endif
        readGrant = NOBODY; readToken = 0;
        TELL
    }

/* ---- AccountStore.signIn, storeSignIn */

exchanging:
    atomic {
        if
        :: isIssued -> finish()         /* the other program was faster; one sign-in is enough here */
        :: else
        fi;
        MAY_DIE;
        REQUEST;
        isHeld = true;
        grant = 2;
        isIssued = true;
        inHand[me] = 2
    }
receivingSignIn:
    atomic {
        MAY_DIE;
        REQUEST;
        if
        :: isLost[2] = true; finish()   /* the reply is lost */
        :: LEAVES -> goto lockingToQueue
        :: true
        fi
    }
comparingToSignIn:
    atomic {
        TAKE_LOCK;
        read(readGrant, readToken)
    }
savingSignIn:
    atomic {
        MAY_DIE;
        require(9, lease != me + 1);
#ifndef REPLACED_IS_DROPPED
        if
        :: readGrant != NOBODY ->
            if
            :: DISK_FAILS; queueFailed = true
            :: IS_HELD -> enqueue(readGrant, readToken)
#ifdef FENCED
            :: !IS_HELD -> queueFailed = true
#endif
            fi;
            MAY_DIE
        :: else
        fi;
#endif
    THEN(replacing)
        if
        :: DISK_FAILS; goto withdrawingReplaced
        :: IS_UNCHANGED ->
            signedOut[readGrant] = readGrant != NOBODY && !queueFailed;
            isLost[readGrant] = isLost[readGrant] || (readGrant != NOBODY && queueFailed);
#ifdef ONE_USER
            excused[2] = excused[2] || isTelling[1 - me];
#endif
            replaceAccount(grant, token);
            inHand[me] = NOBODY; isHeld = false
#ifdef LOSES_LOCKS
        :: CONFLICT -> goto withdrawingReplaced
#endif
        fi;
    THEN(forgettingReplaced)
        MAY_DIE;
        forgetIntent();
        grant = readGrant; token = readToken; readGrant = NOBODY; readToken = 0; queueFailed = false;
        unlock();
        if
        :: grant == NOBODY -> finish()
#if defined(ONE_USER) && !defined(REPLACED_ENDS_OTHER_GRANT)
        :: grant != NOBODY -> finish()
#else
        :: grant != NOBODY -> TELL
#endif
        fi
    }
withdrawingReplaced:
    atomic {
        MAY_DIE;
        if
        :: readGrant != NOBODY && !queueFailed ->
            if
            :: DISK_FAILS
            :: IS_HELD -> unqueue(readGrant, readToken)
#ifdef FENCED
            :: !IS_HELD
#endif
            fi
        :: else
        fi;
        queueFailed = false;
#ifdef UNSAVED_SIGN_IN_DROPPED
        finish()
#else
        goto queueingOrphan
#endif
    }
/* The user has interrupted the sign-in. */
lockingToQueue:
    atomic {
        TAKE_LOCK;
        read(readGrant, readToken);
        goto queueingOrphan
    }

/* ---- SignOutFlow, and then AccountStore.signOut */

signingOut:
    atomic {
#ifdef SIGN_OUT_TAKES_LEASE
        TAKE_LOCK;
#endif
        read(grant, token);
        if
        :: grant == NOBODY -> finish()
#ifdef CLEAR_BEFORE_QUEUE
        :: grant != NOBODY -> goto clearingForUser
#else
        :: grant != NOBODY
#endif
        fi
    }
queueing:
    atomic {
        MAY_DIE;
        if
        /* A full disk does not prevent the sign-out. */
        :: DISK_FAILS; queueFailed = true; signedOut[grant] = false
        :: IS_HELD -> enqueue(grant, token)
#ifdef FENCED
        :: !IS_HELD -> queueFailed = true
#endif
        fi;
#ifdef CLEAR_BEFORE_QUEUE
        goto forgettingSignedOut;
#endif
    THEN(clearingForUser)
        MAY_DIE;
        require(9, lease != me + 1);
        if
        :: DISK_FAILS; goto removing        /* still signed in, so the revocation is withdrawn */
        :: IS_UNCHANGED ->
            replaceAccount(NOBODY, 0);
            signedOut[grant] = !queueFailed;
            isLost[grant] = isLost[grant] || queueFailed
#ifdef LOSES_LOCKS
        :: CONFLICT -> goto removing
#endif
        fi;
#ifdef CLEAR_BEFORE_QUEUE
        goto queueing;
#endif
    THEN(forgettingSignedOut)
        MAY_DIE;
        forgetIntent();
        queueFailed = false;
        unlock();
        TELL
    }
revoking:
    atomic {
        MAY_DIE;
        REQUEST;
        IS_TOLD;
        if
        :: true -> revoke(grant, token)
        :: true -> revoke(grant, token); finish()          /* the reply is lost */
        :: true -> finish()                                /* not reached */
        fi
    }
lockingToRemove:
    atomic { TAKE_LOCK }
removing:
    atomic {
        MAY_DIE;
        if
        :: isQueued(grant, token) ->
            if
            :: DISK_FAILS
            :: IS_HELD -> unqueue(grant, token)
#ifdef FENCED
            :: !IS_HELD
#endif
            fi
        :: else
        fi;
        skip;
/* Every operation ends here. */
finishing:
        inHand[me] = NOBODY;
        unlock();
        checkAtRest();
        endLease();
        grant = NOBODY; token = 0; readGrant = NOBODY; readToken = 0; reply = NONE;
        isCheck = false; afterRefusal = false; justRefreshed = false;
        isRetry = false; hadIntent = false; queueFailed = false; isHeld = false;
#ifdef LOSES_LOCKS
        conflicts = 0;
#endif
        IS_TOLD;
        isDerivation = false; isExchange = false;
        goto choosing
    }

/* ---- AccountStore.deliverRevocations */

delivering:
    atomic {
#ifndef DELIVER_WITHOUT_LOCK
        TAKE_LOCK;
#endif
        do
        :: isQueued(grant, token) -> break
        :: !isQueued(grant, token) && token < newest[grant] -> token++
        :: !isQueued(grant, token) && token >= newest[grant] -> finish()             /* another program was faster */
        od;
#ifdef DELIVER_WITHOUT_LOCK
    }
    atomic {
#endif
        load(readGrant, readToken);
        if
        /* A sign-out died before it cleared the account, so it did not happen. */
#ifdef DELIVER_WITHOUT_LOCK
        :: readGrant == grant && readToken == token -> goto lockingToRemove
#else
        :: readGrant == grant && readToken == token -> readGrant = NOBODY; readToken = 0; goto removing
#endif
#if defined(ONE_USER) && !defined(QUEUE_ENDS_OTHER_GRANT)
        /* The revocation would end the user's later sign-in, so it waits for the sign-out. */
        :: readGrant != grant && readGrant != NOBODY -> finish()
#endif
        :: else -> readGrant = NOBODY; readToken = 0; unlock(); TELL
        fi
    }

done:
    skip
}

/* All other events. */
proctype World() {
    bool mayEndGrant = true;
    mtype:answer ignored = NONE;
#if defined(LOSES_LOCKS) && !defined(FENCED)
    bool mayTakeLock = true;
#endif
end:
    do
    :: atomic { mayEndGrant && ending[1] == LIVE -> mayEndGrant = false; ending[1] = BY_ADMINISTRATOR }
    :: atomic { mayEndGrant && isIssued && ending[2] == LIVE -> mayEndGrant = false; ending[2] = BY_ADMINISTRATOR }
    :: atomic {
        lateGrant != NOBODY ->
        redeem(lateGrant, lateToken, ignored);
        isLost[lateGrant] = isLost[lateGrant] || ignored == TOKENS;
        lateGrant = NOBODY; lateToken = 0; ignored = NONE;
        checkAtRest()
    }
#ifdef FENCED
    /* The holder was silent for too long: it was stopped, cut off, or has died. */
    :: atomic { lock != FREE -> lock = FREE; checkAtRest() }
    /* An exchange has ended by then: if its holder wakes up later, others may have spent its tokens. */
    :: atomic {
        lease != FREE ->
#ifndef LEASE_NOT_KEPT_ALIVE
        excused[inHand[lease - 1]] = true;
#endif
        lease = FREE
    }
#elif defined(LOSES_LOCKS)
    /* The holder of the lock does not notice. The programs are not at fault for the refresh token afterwards. */
    :: atomic { mayTakeLock && lock != FREE -> mayTakeLock = false; lock = FREE; excused[1] = true; excused[2] = true }
    :: atomic { mayTakeLock && lease != FREE -> mayTakeLock = false; lease = FREE; excused[1] = true; excused[2] = true }
#endif
    od
}

init {
    atomic { run Program(0, FIRST); run Program(1, SECOND); run World() };
    finished == 2;
    require(6, lock == FREE && lease == FREE)
}
