// Fleet: engines on one clock, from the first arrival to the last token.
//
// A replica is one engine, or several that step together (attention in parallel over data). At one
// instant iterations end, then KV arrives, then requests, then engines plan, in the order of pools
// and replicas. Iterations that are alike are one event, which an arrival cuts at the end of the
// iteration under way: so a run costs as many steps as batches change.
#pragma once

#include <compare>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <span>
#include <string>

#include "serving/carrier.hpp"
#include "serving/cost.hpp"
#include "serving/engine.hpp"
#include "serving/routing.hpp"
#include "serving/scaling.hpp"

namespace yantra::serving {

enum class Role : u8 { both, prefill, decode };

inline std::size_t place_of(Role role) { return static_cast<std::size_t>(role); }

// When a replica is there: `end_of_time` if it never fails.
struct Presence {
    Time from = 0;
    Time until = end_of_time;
};

struct Replica {
    struct Lane {
        std::unique_ptr<Engine> engine;
        Batch batch;   // under way
        Batch ahead;   // planned while it runs
    };

    // A batch on its way through the stages of a pipeline.
    struct Flight {
        Batch batch;
        Time begin;
        Time end;
    };

    Role role = Role::both;
    u32 stages = 1;        // of a pipeline; more keep several batches under way
    std::shared_ptr<const Cost> cost;
    Presence presence;
    Vector<Lane> lanes;
    TargetId first;        // of its lanes
    std::deque<Flight> flights;   // of a pipeline, in order
    Time enters = 0;       // when its first stage is free
    // What follows is of the iterations under way, where there is no pipeline.
    bool is_busy = false;
    bool is_up = true;
    bool has_ahead = false;
    u32 version = 0;       // of its event in the queue
    Time begin = 0;
    Time end = 0;
    Pace pace;
    u64 count = 0;
    Time worked = 0;       // in all, as what follows
    Amounts amounts;       // of a device
    u64 iterations = 0;
    Time idle_since = 0;
    Time up_since = 0;
    Time was_up = 0;       // in all
};

// A logged iteration, of one lane.
struct LoggedIteration {
    Time begin;
    Time end;
    TargetId target;
    u32 first_item;
    u32 items;
};

// The state of a replica from one plan to the next.
struct Sample {
    Time time;
    u32 replica;
    u32 waiting;
    u32 running;
    u64 kv_tokens;
    u64 batch_tokens;
};

struct FleetOptions {
    u64 bytes_per_token = 0;   // of KV that moves
    u32 layers = 1;            // by which it is sent; 1: whole, at the prompt's end
    u64 most_under_way = 0;    // requests that have not ended, others wait outside; 0: no bound
    u64 most_logged = 0;       // iterations
    bool samples = false;
    u32 pool_blocks = 0;       // of KV in a pool that all engines read and write
};

class Fleet {
public:
    Fleet(const Requests& requests, const FleetOptions& options);

    // A replica of `lanes` engines.
    void add(Role role, std::string_view engine, const EngineOptions& given, std::shared_ptr<const Cost> cost,
             u32 lanes, u32 stages, const Presence& presence);
    using Make = std::function<std::unique_ptr<Engine>(const Engine::Place&)>;
    void add(Role role, const Make& make, std::shared_ptr<const Cost> cost, u32 lanes, u32 stages,
             const Presence& presence);
    void route(Role role, std::unique_ptr<Routing> routing);
    // Replicas of the role that are not there from the beginning come when they are needed.
    void scale(Role role, const Scaling& scaling) { scaling_[place_of(role)] = scaling; }
    void carry(std::unique_ptr<Carrier> carrier) { carrier_ = std::move(carrier); }

    // Until nothing more happens. Requests that have not ended then can never.
    void run();

    const Ledger& ledger() const { return ledger_; }
    const Vector<Replica>& replicas() const { return replicas_; }
    const Vector<LoggedIteration>& log() const { return log_; }
    const Vector<Item>& logged_items() const { return logged_items_; }
    const Vector<Sample>& samples() const { return samples_; }
    Time now() const { return now_; }
    u64 evicted() const;

private:
    struct ReplicaEnd {
        Time time;
        u32 replica;
        u32 version;
        friend auto operator<=>(const ReplicaEnd&, const ReplicaEnd&) = default;
    };
    struct Arrival {
        Time time;
        RequestId request;
        friend auto operator<=>(const Arrival&, const Arrival&) = default;
    };
    enum class TurnKind : u8 { comes, fails, may_go, may_enter };
    struct Turn {
        Time time;
        u32 replica;
        TurnKind kind;
        Time since = 0;   // may_go: it was idle then
        friend auto operator<=>(const Turn&, const Turn&) = default;
    };

    Time next_time();
    void end_iterations();
    void end_iteration(u32 replica);
    void take_finished();
    void take_prefilled();
    // Its KV goes to an engine for decode, or waits until one is up.
    void move(RequestId request);
    void take_moves();
    void take_turns();
    void take_arrivals();
    RequestId next_arrival();
    void arrive(RequestId request);
    // To one of the engines that are up, or it waits until one is.
    void hand_to(RequestId request, Role role);
    TargetId chosen(RequestId request, Role role);
    void accept(RequestId request, TargetId target);
    void cut(u32 replica);
    void make_ready(u32 replica);
    void plan_ready();
    bool fill(Replica& of, bool ahead);
    void start(u32 replica);
    void enter(u32 replica);
    void leave(u32 replica);
    void book(Replica& of, Replica::Lane& lane, Batch& batch, const Ended& when);
    bool is_idle(const Replica& of) const { return !of.is_busy && of.flights.empty(); }
    void note_idle(u32 replica);
    // Its engines have nothing to do until then.
    void sleep(u32 replica);
    void note_log(const Replica& of);
    void note_sample(u32 replica);
    void comes(u32 replica);
    void ask_for_more(Role role);
    void may_go(u32 replica, Time since);
    void goes(u32 replica);
    u32 standing(Role role) const { return static_cast<u32>(targets_[place_of(role)].size()); }
    void fails(u32 replica);
    Engine& engine_of(TargetId target);
    Role role_of_prompts() const { return has_pools_ ? Role::prefill : Role::both; }

    const Requests& requests_;
    FleetOptions options_;
    Ledger ledger_;
    Sequences sequences_;
    Tier pool_;
    Vector<Replica> replicas_;
    Vector<u32> replica_of_;              // by target
    Vector<Target> targets_[3];           // that are up, by role
    std::unique_ptr<Routing> routing_[3];
    std::unique_ptr<Carrier> carrier_;
    bool has_pools_ = false;

    Time now_ = 0;
    u32 next_arrival_ = 0;                // of those with an arrival of their own
    Vector<RequestId> in_order_;
    std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> later_;   // that followed others
    std::priority_queue<ReplicaEnd, std::vector<ReplicaEnd>, std::greater<>> ends_;
    std::deque<RequestId> outside_;       // as many as may are under way
    struct Homeless {
        RequestId request;
        Role role;
    };
    std::deque<Homeless> homeless_;       // nobody who would take them is up
    u64 under_way_ = 0;
    std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
    Scaling scaling_[3];                  // by role
    Vector<u8> on_the_way_;               // replicas
    Vector<u32> followers_begin_;         // of a request, those after it
    Vector<RequestId> followers_;
    Vector<u8> is_ready_;                 // replicas to plan at this instant
    Vector<u32> ready_;
    u32 sample_every_ = 1;
    u32 until_sample_ = 1;
    Vector<RequestId> unsent_;            // with KV that no engine is up to take
    Vector<LoggedIteration> log_;
    Vector<Item> logged_items_;
    Vector<Sample> samples_;
};

}  // namespace yantra::serving
