// vLLM before V1: a batch of whole prompts if any may enter, else one token for all that run. Rules
// of Vidur 7d47513 (vllm_replica_scheduler.py); Kwon et al., "PagedAttention", SOSP 2023, section
// 4.5.
#include <memory>

#include "serving/vidur.hpp"

namespace yantra::serving {

namespace {

class VllmV0 final : public VidurEngine {
public:
    VllmV0(const Place& place, const EngineKind& kind, const EngineOptions& given)
        : VidurEngine(place, kind, given), most_tokens_(whole(kind, given, "max_num_batched_tokens")) {}

protected:
    void fills(Time now, Batch& batch) override {
        prefill(now, batch);
        if (batch.items.empty() && !running_.empty()) {
            decode(now, batch);
            if (batch.items.empty()) {   // the only one that ran waits again
                prefill(now, batch);
            }
        }
    }

private:
    void prefill(Time now, Batch& batch) {
        u64 longest = 0;
        while (!waiting_.empty()) {
            const u32 tokens = missing(waiting_.front());
            const u32 known = known_tokens(waiting_.front());
            longest = std::max<u64>(longest, tokens);   // prompts are padded to it
            if ((batch.items.size() + 1) * longest > most_tokens_) {
                return reasons_.stops(Obstacle::tokens);
            }
            if (!has_seat(batch)) {
                return reasons_.stops(Obstacle::seats);
            }
            if (!fits_new(known)) {   // last, as decodes change it
                return reasons_.stops(Obstacle::blocks);
            }
            const RequestId request = start_first(now);
            ensure(kv_.hold(request, known), "blocks that were counted");
            add(batch, request, tokens);
        }
    }

    void decode(Time now, Batch& batch) {
        std::stable_sort(running_.begin(), running_.end(),
                         [this](RequestId a, RequestId b) { return came_before(a, b); });
        for (std::size_t at = 0; at < running_.size() && !is_full(batch); ++at) {
            const RequestId request = running_[at];
            if (makes_room(running_, at, now)) {
                add(batch, request, 1);
            }
        }
    }

    u64 most_tokens_;
};

std::unique_ptr<Engine> make_vllm_v0(const Engine::Place& place, const EngineOptions& given) {
    return std::make_unique<VllmV0>(place, *find_engine("vllm_v0"), given);
}

std::vector<EngineOption> vllm_v0_options() {
    std::vector<EngineOption> all = vidur_options();
    all.push_back({"max_num_batched_tokens", 4096, 1, "prompts of a batch times the longest of them"});
    return all;
}

const RegisteredEngine registered_vllm_v0({
    "vllm_v0",
    "vLLM V0: prompts alone and whole before decodes; the last begins anew without blocks",
    make_vllm_v0,
    vllm_v0_options(),
    true,
});

}  // namespace

}  // namespace yantra::serving
