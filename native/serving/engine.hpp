// Engine: which requests the next iteration works on, and who loses his KV; it knows no durations.
// Each registers itself in its own file of serving/engines (`const RegisteredEngine`) and keeps the
// laws of yantra.kinds.engine_laws.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "serving/kv/tiers.hpp"
#include "serving/ledger.hpp"

namespace yantra::serving {

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
    std::vector<std::string> choices =
        {};  // names of the values 0, 1, ...; "off", "on" for a switch
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
        u32 stages = 1;   // of its pipeline
    };

    explicit Engine(const Place& place, EngineTraits traits = {})
        : requests_(place.requests), sequences_(place.sequences), ledger_(place.ledger), traits_(traits) {}
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    virtual ~Engine() = default;

    // One with `kept` tokens of KV brings them.
    virtual void accepts(RequestId request, Time now) = 0;
    // Left empty if there is nothing to do now.
    virtual void plans(Time now, Batch& batch) = 0;
    // How many iterations would be planned alike, each sequence a token further, if nothing
    // arrives. At least 1. An engine that plans ahead has planned `ahead`, too.
    virtual u64 alike(const Batch& /*batch*/, const Batch& /*ahead*/) { return 1; }
    // `when.count` times.
    virtual void ends(const Batch& batch, const Ended& when) = 0;
    virtual void releases(RequestId request) = 0;
    EngineTraits traits() const { return traits_; }
    // In the order in which they begin anew elsewhere.
    virtual std::vector<RequestId> loses_all(Time now) = 0;

    virtual Load load() const = 0;
    // That it would not have to work out.
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
    std::vector<EngineOption> options;
    bool has_pipelines = false;
};

const std::vector<EngineKind>& engine_kinds();
// Null if unknown.
const EngineKind* find_engine(std::string_view name);
// `name` is one of the kind's options.
double option_of(const EngineKind& kind, const EngineOptions& given, std::string_view name);

struct RegisteredEngine {
    [[gnu::cold]] explicit RegisteredEngine(EngineKind kind);
};

}  // namespace yantra::serving
