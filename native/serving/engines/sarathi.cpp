// Sarathi-Serve: all decodes, then pieces of prompts. Rules of Vidur 7d47513
// (sarathi_replica_scheduler.py); Agrawal et al., "Sarathi-Serve", OSDI 2024, algorithm 3. One that
// began anew amid its prompt reads in pieces what it had read.
#include <memory>

#include "serving/vidur.hpp"

namespace yantra::serving {

namespace {

class Sarathi final : public VidurEngine {
public:
    Sarathi(const Place& place, const EngineKind& kind, const EngineOptions& given)
        : VidurEngine(place, kind, given), chunk_(whole(kind, given, "chunk_size")),
          goal_(place.requests.size()) {}

    void accepts(RequestId request, Time now) override {
        goal_[request] = 0;
        VidurEngine::accepts(request, now);
    }

protected:
    void fills(Time now, Batch& batch) override {
        std::vector<RequestId> prompts;
        const std::size_t seen = decode(now, batch, prompts);
        std::vector<RequestId> skipped;
        for (const RequestId request : prompts) {
            if (const u32 tokens = piece(request, batch); tokens > 0) {
                read(batch, request, tokens);
            } else {
                skipped.push_back(request);
            }
        }
        skipped.insert(skipped.end(), running_.begin() + static_cast<std::ptrdiff_t>(seen), running_.end());
        std::stable_sort(skipped.begin(), skipped.end(),
                         [this](RequestId a, RequestId b) { return came_before(a, b); });
        running_ = std::move(skipped);   // they come first in the next iteration
        for (const Item& item : batch.items) {
            running_.push_back(item.request);
        }
        admit(now, batch);
    }

    void restarts(RequestId request, Time now) override {
        const u32 computed = sequences_[request].computed;
        goal_[request] = is_read(request) ? computed + 1 : computed;
        VidurEngine::restarts(request, now);
    }

private:
    bool is_read(RequestId request) const { return sequences_[request].computed >= goal_[request]; }
    u32 piece(RequestId request, const Batch& batch) const {
        const u64 left = chunk_ > batch.tokens ? chunk_ - batch.tokens : 0;
        return static_cast<u32>(std::min<u64>(left, goal_[request] - sequences_[request].computed));
    }

    void read(Batch& batch, RequestId request, u32 tokens) const {
        const Sequence& of = sequences_[request];
        const u32 behind = of.computed + tokens;
        const bool counts = behind == goal_[request] && of.emitted == 0 && !of.moves && requests_.output[request] > 1;
        add(batch, request, tokens, counts || behind >= known_tokens(request));
    }

    // How many it came to.
    std::size_t decode(Time now, Batch& batch, std::vector<RequestId>& prompts) {
        std::size_t at = 0;
        for (; at < running_.size() && !is_full(batch); ++at) {
            const RequestId request = running_[at];
            if (!is_read(request)) {
                prompts.push_back(request);
            } else if (makes_room(running_, at, now)) {
                add(batch, request, 1);
            }
        }
        return std::min(at, running_.size());
    }

    void admit(Time now, Batch& batch) {
        while (!waiting_.empty()) {
            const RequestId request = waiting_.front();
            if (goal_[request] == 0) {
                goal_[request] = known_tokens(request);
            }
            if (!has_seat(batch)) {
                return reasons_.stops(Obstacle::seats);
            }
            const u32 tokens = piece(request, batch);
            if (tokens == 0) {
                return reasons_.stops(Obstacle::tokens);
            }
            if (!fits_new(goal_[request])) {   // last, as decodes change it
                return reasons_.stops(Obstacle::blocks);
            }
            start_first(now);
            ensure(kv_.hold(request, goal_[request]), "blocks that were counted");
            read(batch, request, tokens);
        }
    }

    u64 chunk_;
    IdVector<RequestId, u32> goal_;   // tokens that it reads in pieces; 0: not known yet
};

std::unique_ptr<Engine> make_sarathi(const Engine::Place& place, const EngineOptions& given) {
    return std::make_unique<Sarathi>(place, *find_engine("sarathi"), given);
}

std::vector<EngineOption> sarathi_options() {
    std::vector<EngineOption> all = vidur_options();
    all.push_back({"chunk_size", 512, 1, "tokens of an iteration, if decodes leave any of them"});
    return all;
}

const RegisteredEngine registered_sarathi({
    "sarathi",
    "Sarathi-Serve: decodes first, then pieces of prompts up to so many tokens",
    make_sarathi,
    sarathi_options(),
    true,
});

}  // namespace

}  // namespace yantra::serving
