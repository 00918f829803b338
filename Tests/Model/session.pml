/*
 * The life of a session, small enough to try everything: two programs that share one archive, the service, and a world
 * in which whatever can go wrong does. README.md says what is claimed, what is left out, and which code this is.
 *
 * The labels of `Program` are the phases of the procedures in Sources/AccountKit/Session. Each `atomic` is one step: at
 * most one change of what others can see, or one exchange with the service. Between two of them the others can do
 * anything, and the program can die. What a program does under the lock without anybody being able to see it, such as
 * reading, is part of the step that follows or goes before.
 *
 * Options (-D) make one mistake each, to show that the model would notice; check.sh lists them.
 */

#ifndef FIRST
#define FIRST 2                 /* how many operations the first program has, one after the other */
#endif
#ifndef SECOND
#define SECOND 2                /* and the second */
#endif
#ifndef FAULTS
#define FAULTS 2                /* writes that fail, in all; a save is tried twice, so with fewer all would be saved */
#endif
#ifndef DEATHS
#define DEATHS 1                /* how often each program dies */
#endif

/* With -DONLY=n no other property than n is looked at. */
#ifdef ONLY
#define require(property, condition) assert(property != ONLY || (condition))
#else
#define require(property, condition) assert(condition)
#endif

/* ---- The service: a grant has one good refresh token at a time, and ends if a spent one comes again. */

/* Grant 1 is of the user who is signed in at the start, grant 2 of another one who may sign in. */
#define NOBODY 0
#define GRANTS 3

mtype:ending = { LIVE, BY_ADMINISTRATOR, BY_REUSE, BY_REVOCATION };
mtype:ending ending[GRANTS] = LIVE;

byte newest[GRANTS];            /* the tokens of a grant are numbered from 0; this one is good */
bool isIssued = false;          /* whether there is grant 2 */

/* A request that is still on its way although its sender died or gave up. */
byte lateGrant = NOBODY, lateToken;

/* ---- The archive: what is on the disk, and the lock. */

#define FREE 0
byte lock = FREE;               /* its holder's `me + 1` */
byte storedGrant = 1, storedToken = 0;
bool intent = false;            /* Refresh.plist */
byte queue[GRANTS];             /* Revocation-n.plist: bit t is for token t of the grant */
byte faults = FAULTS;

/*
 * Revisions are only ever compared with the stored one. So instead of numbers there is a bit for each one that a program
 * remembers: whether it still is the stored one.
 */
bool isRead[2];                 /* the revision that it read under the lock */
bool isUnsaved[2];              /* the revision that its unsaved tokens belong to */

/* ---- What only the properties look at. */

byte lastSaved[GRANTS];         /* the newest token that has been on the disk */
bool excused[GRANTS];           /* new tokens were lost on their way, or could not be written: reuse may follow */
bool signedOut[GRANTS];         /* by the user, and the disk did not fail when the revocation was queued */
byte finished = 0;

/* ---- What the service does. */

mtype:answer = { NONE, TOKENS, INVALID_GRANT, UNAVAILABLE, MAYBE_DONE };

inline redeem(grant, token, reply) {
    if
    :: ending[grant] == LIVE && token == newest[grant] -> newest[grant]++; reply = TOKENS
    :: ending[grant] == LIVE && token != newest[grant] ->
        require(2, excused[grant]);
        ending[grant] = BY_REUSE;
        reply = INVALID_GRANT
    :: ending[grant] != LIVE -> reply = INVALID_GRANT
    fi
}

/* Any refresh token of a grant, also a spent one, ends it. */
inline revoke(grant) {
    if
    :: ending[grant] == LIVE -> ending[grant] = BY_REVOCATION
    :: else
    fi
}

/* ---- Steps that several procedures have. */

#define MAY_DIE if :: deaths > 0 -> die(); finish() :: true fi

/* A write or removal that fails. */
#define DISK_FAILS (faults > 0) -> faults--

#ifdef WITHOUT_LOCK
#define TAKE_LOCK (true)
#else
#define TAKE_LOCK (lock == FREE) -> lock = me + 1
#endif

/* Whether the account still is the one that was read. With a lock that is not lost, it always is. */
#if defined(WITHOUT_REVISIONS) || defined(WITHOUT_LOCK)
#define IS_UNCHANGED (true)
#else
#define IS_UNCHANGED (isRead[me])
#endif
#ifdef LEASE
#define CONFLICT (!IS_UNCHANGED)
#endif

/* AccountArchive.load(): tokens that could not be saved count as long as the revision stays. */
inline load(grant, token) {
    if
    :: isUnsaved[me] -> grant = unsavedGrant; token = unsavedToken
    :: else -> grant = storedGrant; token = storedToken
    fi
}

/* AccountArchive.load(in:) */
inline read(grant, token) {
    load(grant, token);
    isRead[me] = true
}

/* Every write makes a revision that nobody has read. */
inline replaceAccount(grant, token) {
    storedGrant = grant;
    storedToken = token;
    isRead[0] = false; isRead[1] = false;
    isUnsaved[0] = false; isUnsaved[1] = false
}

/* A save by whoever does not sign in. It may replace the same or older tokens of the same grant, and nothing else. */
inline commit(grant, token) {
    require(3, storedGrant == grant && storedToken <= token);
    replaceAccount(grant, token);
    lastSaved[grant] = token
}

/* The service says that it is over. It must be about what is stored, and none of our own doing. */
inline clearSinceEnded(grant, token) {
    require(1, storedGrant == grant && (storedToken == token || (isUnsaved[me] && unsavedToken == token)));
    require(1, ending[grant] == BY_ADMINISTRATOR || (ending[grant] != LIVE && excused[grant]));
    replaceAccount(NOBODY, 0)
}

/* A caller gets an access token, or the service does. */
inline use(grant, token) {
    require(4, token <= lastSaved[grant] || (unsavedGrant == grant && unsavedToken == token))
}

#define isQueued(grant, token) ((queue[grant] >> token) & 1)
#define enqueue(grant, token) queue[grant] = queue[grant] | (1 << token)
#define unqueue(grant, token) queue[grant] = queue[grant] & ~(1 << token)

/* A record too many is harmless, so nothing depends on this. */
inline forgetIntent() {
    if
    :: DISK_FAILS
    :: true -> intent = false
    fi
}

/* AccountArchive.save: what could not be saved before now is, which settles the record of it. */
inline settleUnsaved() {
    if
#ifdef SAVE_FORGETS_LATER_INTENT
    :: isUnsaved[me] -> intent = false
#else
    :: isUnsaved[me] && !hasLaterIntent -> intent = false
#endif
    :: else
    fi
}

/* What holds whenever nobody holds the lock. */
inline checkAtRest() {
#ifdef LEASE
    skip
#else
    /* If the stored refresh token is spent, a record says so. */
    require(1, storedGrant == NOBODY || storedToken == newest[storedGrant] || intent);
    require(7, !signedOut[1] || queue[1] != 0 || ending[1] != LIVE);
    require(7, !signedOut[2] || queue[2] != 0 || ending[2] != LIVE)
#endif
}

inline unlock() {
    if
    :: lock == me + 1 -> lock = FREE; checkAtRest()
    :: else
    fi;
    isRead[me] = false
}

/* The kernel frees the lock. The memory is gone, and with it a reply that was not written. */
inline die() {
    deaths--;
    excused[grant] = excused[grant] || reply == TOKENS;
    unlock();
    forgetMemory()
}

inline forgetMemory() {
    unsavedGrant = NOBODY; unsavedToken = 0; hasLaterIntent = false; isUnsaved[me] = false
}

inline finish() {
    unlock();
    forgetOperation();
    goto choosing
}

/* What another program stored is the result; nobody has said here that the service knows it. */
inline adopt() {
    grant = readGrant;
    token = readToken;
    readGrant = NOBODY; readToken = 0; reply = NONE;
    unlock();
    if
    :: isCheck -> justRefreshed = true; afterRefusal = false; goto verifying
    :: !isCheck -> use(grant, token); finish()
    fi
}

inline forgetOperation() {
    grant = NOBODY; token = 0; readGrant = NOBODY; readToken = 0; reply = NONE;
    isCheck = false; afterRefusal = false; justRefreshed = false;
    isRetry = false; hadIntent = false; queueFailed = false
}

proctype Program(byte me; byte operations) {
    byte deaths = DEATHS;

    /* Its memory: the account that the operation is about, the one that it is compared with, the one that was not saved. */
    byte grant, token, readGrant, readToken, unsavedGrant, unsavedToken;
    bool hasLaterIntent;        /* the unsaved tokens were sent since: the record is about them */
    mtype:answer reply = NONE;
    bool isCheck, afterRefusal, justRefreshed, isRetry, hadIntent, queueFailed;

/* Whatever came before, the next operation is any of these. */
choosing:
    atomic {
        MAY_DIE;
        if
        :: operations > 0 -> operations--
        :: operations == 0 -> forgetMemory(); finished++; goto done
        fi;
        if
        /* AccountStore.checkSession; the token may look expired. */
        :: true ->
            isCheck = true;
            load(grant, token);
            if
            :: grant == NOBODY -> finish()
            :: grant != NOBODY -> goto verifying
            :: grant != NOBODY -> goto refreshing
            fi
        /* AccountStore.refresh, accessToken */
        :: true ->
            load(grant, token);
            if
            :: grant == NOBODY -> finish()
            :: grant != NOBODY -> goto refreshing
            fi
        /* AccountStore.signIn; the service has just issued the grant. */
        :: !isIssued -> isIssued = true; grant = 2; goto signingIn
        /* AccountStore.signOut */
        :: TAKE_LOCK;
            read(grant, token);
            if
            :: grant == NOBODY -> finish()
#ifdef CLEAR_BEFORE_QUEUE
            :: grant != NOBODY -> goto clearingForUser
#else
            :: grant != NOBODY -> goto queueing
#endif
            fi
        /* AccountStore.deliverRevocations; of several, each may be the first */
        :: queue[1] != 0 -> grant = 1; goto delivering
        :: queue[2] != 0 -> grant = 2; goto delivering
        fi
    }

/* ---- CheckProcedure */

verifying:
    atomic {
        MAY_DIE;
        use(grant, token);
        if
        :: ending[grant] == LIVE -> goto comparingToStore
        /* An app's own authority may be certain. */
        :: ending[grant] != LIVE -> goto comparingToClear
        /* 401, since the token has expired or the grant has ended. */
        :: !justRefreshed -> afterRefusal = true; goto refreshing
        /* No answer, or none that says anything. */
        :: true -> finish()
        fi
    }
comparingToStore:
    atomic {
        TAKE_LOCK;
        read(readGrant, readToken);
        if
        :: readGrant == grant && readToken == token -> readGrant = NOBODY; readToken = 0; goto storing
        :: else -> finish()
        fi
    }
storing:
    atomic {
        MAY_DIE;
        if
        :: DISK_FAILS
        :: IS_UNCHANGED -> settleUnsaved(); commit(grant, token)
#ifdef LEASE
        :: CONFLICT
#endif
        fi;
        finish()
    }
comparingToClear:
    atomic {
        TAKE_LOCK;
        read(readGrant, readToken);
        if
#ifdef CLEAR_WITHOUT_COMPARING
        :: goto clearingAfterCheck
#else
        :: readGrant == grant && readToken == token -> goto clearingAfterCheck
        :: else -> finish()
#endif
        fi
    }
clearingAfterCheck:
    atomic {
        MAY_DIE;
        if
        :: DISK_FAILS
        :: IS_UNCHANGED -> clearSinceEnded(grant, token)
#ifdef LEASE
        :: CONFLICT
#endif
        fi;
        finish()
    }

/* ---- RefreshProcedure */

refreshing:
    atomic {
        TAKE_LOCK;
        read(readGrant, readToken);
        if
#ifdef WITHOUT_READING_AGAIN
        :: true
#else
        :: readGrant == grant && readToken == token
        :: readGrant == NOBODY -> finish()
        :: else -> adopt()
#endif
        fi;
#ifndef QUEUE_OUTLIVES_REFRESH
        /* A sign-out died before it cleared. It did not happen, and its revocation would end what is renewed here. */
        if
        :: isQueued(grant, token) -> goto withdrawingOld
        :: else
        fi;
#endif
#ifdef SEND_BEFORE_RESERVE
        goto recording
#endif
    }
preparing:
    atomic {
        MAY_DIE;
        if
        :: DISK_FAILS;
            require(5, reply != TOKENS);
#ifdef LOCK_IS_FORGOTTEN
            forgetOperation();
            goto choosing
#else
            finish()
#endif
#ifdef SEND_BEFORE_RESERVE
        :: goto saving
#else
        :: goto recording
#endif
        fi
    }
#ifndef QUEUE_OUTLIVES_REFRESH
withdrawingOld:
    atomic {
        MAY_DIE;
        if
        :: DISK_FAILS; finish()
        :: unqueue(grant, token); goto preparing
        fi
    }
#endif
recording:
    atomic {
        MAY_DIE;
        if
        :: DISK_FAILS; finish()
        :: true -> hadIntent = intent; intent = true; hasLaterIntent = isUnsaved[me]
        fi
    }
requesting:
    atomic {
        MAY_DIE;
        if
        :: reply = UNAVAILABLE                      /* not reached, or told that nothing was done */
        :: reply = MAYBE_DONE                       /* no reply or an unclear one, and nothing was done; */
        :: redeem(grant, token, reply);             /* or it was; */
            excused[grant] = excused[grant] || reply == TOKENS;
            reply = MAYBE_DONE
        :: lateGrant == NOBODY ->                   /* or it will be, even if the sender dies now */
            lateGrant = grant; lateToken = token; excused[grant] = true;
            reply = MAYBE_DONE
        :: redeem(grant, token, reply)
        fi;
        if
        :: reply == TOKENS ->
            token++;
#ifdef USE_BEFORE_SAVE
            use(grant, token);
#endif
#ifdef SEND_BEFORE_RESERVE
            goto preparing
#else
            goto saving
#endif
        :: reply == INVALID_GRANT -> goto clearing
        /* The record stays: the token may be spent. */
#ifdef FORGET_UNLESS_SILENT
        :: reply == MAYBE_DONE && !hadIntent -> goto forgetting
#endif
        :: reply == MAYBE_DONE -> finish()
        /* This request spent nothing; of an earlier one whose record was found that is not known. */
#ifdef FORGET_EARLIER_INTENT
        :: reply == UNAVAILABLE -> goto forgetting
#else
        :: reply == UNAVAILABLE && hadIntent -> finish()
        :: reply == UNAVAILABLE && !hadIntent -> goto forgetting
#endif
        fi
    }
saving:
    atomic {
        MAY_DIE;
        if
        :: DISK_FAILS;
            if
            :: !isRetry -> isRetry = true; goto saving
            :: isRetry -> goto keeping
            fi
        :: IS_UNCHANGED -> settleUnsaved(); commit(grant, token); reply = NONE
#ifdef LEASE
        :: CONFLICT -> goto supersededSave
#endif
        fi
    }
forgettingRenewed:
    atomic {
        MAY_DIE;
        forgetIntent();
        unlock();
        use(grant, token);
        if
        :: isCheck && afterRefusal -> justRefreshed = true; afterRefusal = false; goto verifying
        :: else -> finish()
        fi
    }
#ifdef LEASE
supersededSave:
    atomic {
        MAY_DIE;
        read(readGrant, readToken);
        if
        :: readGrant == grant && readToken == token - 1 && !isRetry -> isRetry = true; goto saving
        :: readGrant == grant && readToken == token - 1 && isRetry -> goto keeping
        :: readGrant == NOBODY -> finish()
        :: else -> adopt()
        fi
    }
#endif
keeping:
    atomic {
        unsavedGrant = grant;
        unsavedToken = token;
        hasLaterIntent = false;
        isUnsaved[me] = isRead[me];
        excused[grant] = true;
        reply = NONE;
        unlock();
        use(grant, token);
        finish()
    }
clearing:
    atomic {
        MAY_DIE;
        if
        :: DISK_FAILS; finish()
        :: IS_UNCHANGED -> clearSinceEnded(grant, token)
#ifdef LEASE
        :: CONFLICT -> finish()
#endif
        fi
    }
forgetting:
    atomic {
        MAY_DIE;
        forgetIntent();
        finish()
    }
/* ---- SignInProcedure */

signingIn:
    atomic {
        TAKE_LOCK;
        read(readGrant, readToken)
    }
savingSignIn:
    atomic {
        MAY_DIE;
        if
        :: DISK_FAILS; finish()
        :: IS_UNCHANGED -> replaceAccount(grant, token)
#ifdef LEASE
        :: CONFLICT -> finish()
#endif
        fi;
        goto forgetting
    }

/* ---- SignOutProcedure, and then AccountStore.signOut */

queueing:
    atomic {
        MAY_DIE;
        if
        /* A full disk keeps nobody signed in. */
        :: DISK_FAILS; queueFailed = true; signedOut[grant] = false
        :: true -> enqueue(grant, token)
        fi;
#ifdef CLEAR_BEFORE_QUEUE
        goto forgettingSignedOut
#endif
    }
clearingForUser:
    atomic {
        MAY_DIE;
        if
        :: DISK_FAILS; goto removing        /* still signed in, so the revocation is withdrawn */
        :: IS_UNCHANGED -> replaceAccount(NOBODY, 0); signedOut[grant] = !queueFailed
#ifdef LEASE
        :: CONFLICT -> goto removing
#endif
        fi;
#ifdef CLEAR_BEFORE_QUEUE
        goto queueing
#endif
    }
forgettingSignedOut:
    atomic {
        MAY_DIE;
        forgetIntent();
        unlock()
    }
revoking:
    atomic {
        MAY_DIE;
        if
        :: true -> revoke(grant); goto lockingToRemove
        :: true -> revoke(grant); finish()         /* the reply is lost */
        :: true -> finish()                                /* not reached */
        fi
    }
lockingToRemove:
    atomic { TAKE_LOCK }
removing:
    atomic {
        MAY_DIE;
        if
        :: DISK_FAILS
        :: true -> unqueue(grant, token)
        fi;
        finish()
    }

/* ---- AccountStore.deliverRevocations */

delivering:
    atomic {
#ifndef DELIVER_WITHOUT_LOCK
        TAKE_LOCK;
#endif
        do
        :: isQueued(grant, token) -> break
        :: token < newest[grant] -> token++
        :: else -> finish()             /* another program was faster */
        od;
#ifdef DELIVER_WITHOUT_LOCK
    }
    atomic {
#endif
        load(readGrant, readToken);
        if
        /* A sign-out died before it cleared, so it did not happen. */
#ifdef DELIVER_WITHOUT_LOCK
        :: readGrant == grant && readToken == token -> goto lockingToRemove
#else
        :: readGrant == grant && readToken == token -> goto removing
#endif
        :: else -> unlock(); goto revoking
        fi
    }

done:
    skip
}

/* Everything else that can happen. */
proctype World() {
    bool mayEndGrant = true;
    mtype:answer ignored = NONE;
#ifdef LEASE
    bool mayTakeLock = true;
#endif
end:
    do
    :: atomic { mayEndGrant && ending[1] == LIVE -> mayEndGrant = false; ending[1] = BY_ADMINISTRATOR }
    :: atomic { mayEndGrant && isIssued && ending[2] == LIVE -> mayEndGrant = false; ending[2] = BY_ADMINISTRATOR }
    :: atomic {
        lateGrant != NOBODY ->
        redeem(lateGrant, lateToken, ignored);
        lateGrant = NOBODY; lateToken = 0; ignored = NONE;
        if
        :: lock == FREE -> checkAtRest()
        :: else
        fi
    }
#ifdef LEASE
    /* Whoever holds the lock is not told. What then becomes of the refresh token is no fault of the procedures. */
    :: atomic { mayTakeLock && lock != FREE -> mayTakeLock = false; lock = FREE; excused[1] = true; excused[2] = true }
#endif
    od
}

init {
    atomic { run Program(0, FIRST); run Program(1, SECOND); run World() };
    finished == 2;
    require(6, lock == FREE)
}
