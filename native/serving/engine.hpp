// Engine: which requests the next iteration works on, how many tokens of each, and who loses his KV.
//
// An engine knows no durations: it is told what arrives and what has ended. Each registers itself in
// its own file of serving/engines (`const RegisteredEngine`). It must keep the laws of
// yantra.kinds.engine_laws: no more tokens, sequences and blocks than it may use, one token a
// sequence and iteration without drafts, no idle engine while something could run.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "serving/kv/tiers.hpp"
#include "serving/ledger.hpp"

namespace yantra::serving {

// Of a request while an engine has it.
struct Sequence {
    u32 computed = 0;    // tokens whose KV exists
    u32 emitted = 0;
    u32 kept = 0;        // tokens of KV that came from another engine
    u32 flying = 0;      // tokens in iterations that have not ended when the next is planned
    u32 checks = 0;      // iterations that checked drafts
    bool moves = false;  // after its prompt it goes on elsewhere
};

using Sequences = IdVector<RequestId, Sequence>;

struct EngineOption {
    std::string name;
    double fallback = 0.0;
    double least = 0.0;
    std::string help;
    Vector<std::string> choices = {};   // names of the values 0, 1, ...; "off", "on" for a switch
};

using EngineOptions = std::map<std::string, double>;

// For those who route requests.
struct Load {
    u64 waiting = 0;
    u64 running = 0;
    u64 tokens = 0;        // of KV in use
    u64 most_tokens = 0;   // of KV
    u64 evicted = 0;       // blocks or tokens that a prefix cache gave up, in all
};

struct EngineTraits {
    bool plans_ahead = false;     // an iteration is planned while the one before runs
    bool keeps_several = false;   // it may be asked for a batch while others are under way, as in a pipeline
};

class Engine {
public:
    struct Place {
        const Requests& requests;
        Sequences& sequences;
        Ledger& ledger;
        Tier& pool;   // of KV, of all engines
    };

    explicit Engine(const Place& place, EngineTraits traits = {})
        : requests_(place.requests), sequences_(place.sequences), ledger_(place.ledger), traits_(traits) {}
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    virtual ~Engine() = default;

    // From now on it waits here. One with `kept` tokens of KV brings them.
    virtual void accepts(RequestId request, Time now) = 0;
    // Fills an empty batch; leaves it empty if there is nothing to do now.
    virtual void plans(Time now, Batch& batch) = 0;
    // How many iterations, the planned one among them, would be planned alike, each sequence a token
    // further, if nothing arrives and none is longer than its output. At least 1.
    virtual u64 alike(const Batch& /*batch*/) { return 1; }
    // The oldest planned batch has ended; `when.count` times, no more than it said were alike.
    virtual void ends(const Batch& batch, const Ended& when) = 0;
    // A request that goes on elsewhere has its KV there.
    virtual void releases(RequestId request) = 0;
    EngineTraits traits() const { return traits_; }
    // Requests that have not ended, in the order in which they begin anew elsewhere.
    virtual Vector<RequestId> loses_all(Time now) = 0;

    virtual Load load() const = 0;
    // Tokens of the prompt that it would not have to work out.
    virtual u32 knows(RequestId /*request*/) const { return 0; }

protected:
    u32 known_tokens(RequestId request) const { return requests_.prompt[request] + sequences_[request].emitted; }

    const Requests& requests_;
    Sequences& sequences_;
    Ledger& ledger_;

private:
    EngineTraits traits_;
};

struct EngineKind {
    using Make = std::unique_ptr<Engine> (*)(const Engine::Place&, const EngineOptions&);

    std::string name;
    std::string help;   // one line
    Make make = nullptr;
    Vector<EngineOption> options;
};

const Vector<EngineKind>& engine_kinds();
// Null if unknown.
const EngineKind* find_engine(std::string_view name);
// Of `given`, or the fallback. `name` is one of the kind's options.
double option_of(const EngineKind& kind, const EngineOptions& given, std::string_view name);

struct RegisteredEngine {
    [[gnu::cold]] explicit RegisteredEngine(EngineKind kind);
};

}  // namespace yantra::serving
