// TensorRT-LLM's in-flight batching, after capacityScheduler.cpp and microBatchScheduler.cpp
// (02a10fe, 0a949d3), without block reuse, LoRA, encoders and drafts. GUARANTEED_NO_EVICT: prompt
// and limit fit; MAX_UTILIZATION: the next iteration does, and the last is paused; STATIC_BATCH:
// none while others run.
#include <memory>
#include <utility>

#include "serving/queued.hpp"

namespace yantra::serving {

namespace {

enum class CapacityPolicy : u8 { guaranteed_no_evict, max_utilization, static_batch };
enum class ChunkPolicy : u8 { first_come_first_served, equal_progress };

class TensorRtLlm final : public QueuedEngine {
public:
    TensorRtLlm(const Place& place, const EngineKind& kind, const EngineOptions& given)
        : QueuedEngine(place, whole(kind, given, "num_blocks"), whole(kind, given, "block_size"), InFlight::running),
          capacity_(static_cast<CapacityPolicy>(whole(kind, given, "capacity_scheduler_policy"))),
          chunks_(static_cast<ChunkPolicy>(whole(kind, given, "context_chunking_policy"))),
          is_chunked_(whole(kind, given, "enable_chunked_context") != 0),
          seats_of_batch_(whole(kind, given, "max_batch_size")), seats_(u64{seats_of_batch_} * place.stages), most_tokens_(whole(kind, given, "max_num_tokens")),
          place_(place.requests.size()) {}

    void accepts(RequestId request, Time now) override {
        place_[request] = next_place_++;
        QueuedEngine::accepts(request, now);
    }

protected:
    void fills(Time now, Batch& batch) override {
        fitting_.clear();
        reasons_.stops(Obstacle::seats);
        if (capacity_ == CapacityPolicy::max_utilization) {
            take_as_many_as_fit(now);
        } else {
            take_with_reserves();
        }
        choose(now, batch);
    }

private:
    bool is_waiting(RequestId request) const { return kv_.held(request) == 0; }
    bool decodes(RequestId request) const { return sequences_[request].emitted > 0 && missing(request) == 1; }
    u32 reserve(RequestId request) const { return requests_.prompt[request] + requests_.limit[request]; }

    void take_with_reserves() {
        for (const RequestId request : running_) {
            fitting_.push_back(request);
        }
        if (capacity_ == CapacityPolicy::static_batch && !running_.empty()) {
            return reasons_.stops(Obstacle::order);
        }
        u64 left = kv_.free();
        for (std::size_t at = 0; at < waiting_.size() && fitting_.size() < seats_; ++at) {
            const u64 need = kv_.blocks_for(reserve(waiting_[at]));
            if (need > left) {
                return reasons_.stops(Obstacle::blocks);
            }
            left -= need;
            fitting_.push_back(waiting_[at]);
        }
    }

    void take_as_many_as_fit(Time now) {
        std::vector<RequestId> paused;
        u64 used = 0;
        u64 end = ~u64{0};   // nobody from this place on
        for (std::size_t ran = 0, waited = 0; fitting_.size() < seats_;) {
            const bool is_new = ran == running_.size() ||
                                (waited < waiting_.size() && place_[waiting_[waited]] < place_[running_[ran]]);
            if (is_new && waited == waiting_.size()) {
                break;
            }
            const RequestId request = is_new ? waiting_[waited] : running_[ran];
            if (place_[request] >= end) {
                break;
            }
            if (const u64 need = blocks_of_next(request); used + need <= kv_.free()) {
                used += need;
                fitting_.push_back(request);
                ++(is_new ? waited : ran);
                continue;
            }
            reasons_.stops(Obstacle::blocks);
            if (running_.size() == ran) {   // none that runs is behind it
                break;
            }
            end = place_[running_.back()];
            paused.push_back(running_.back());
            running_.pop_back();
            lose(paused.back(), now);
        }
        for (const RequestId request : paused) {   // in its place among those that wait
            const auto behind = std::find_if(waiting_.begin(), waiting_.end(),
                                             [&](RequestId of) { return place_[of] > place_[request]; });
            waiting_.insert(behind, request);
        }
    }
    u64 blocks_of_next(RequestId request) const {
        if (is_waiting(request)) {
            return kv_.blocks_for(known_tokens(request));
        }
        return decodes(request) ? kv_.blocks_for(sequences_[request].computed + 1) - kv_.held(request) : 0;
    }
    void lose(RequestId request, Time now) {
        begins_anew(request, now);
        waiting_.pop_front();
    }

    void choose(Time now, Batch& batch) {
        std::vector<std::pair<RequestId, u32>> prompts;
        std::vector<RequestId> decoding;
        u64 tokens = 0;
        for (const RequestId request : fitting_) {
            if (sequences_[request].flying > 0) {
                continue;
            }
            if (prompts.size() + decoding.size() == seats_of_batch_) {
                break;
            }
            const u32 need = missing(request);
            const bool is_decode = decodes(request) && !is_waiting(request);
            if ((is_decode || !is_chunked_) && tokens + need > most_tokens_) {
                reasons_.stops(Obstacle::tokens);
                break;
            }
            if (is_decode) {
                decoding.push_back(request);
            } else {
                prompts.push_back({request, need});
            }
            tokens += is_decode || !is_chunked_ ? need : 0;
        }
        if (is_chunked_) {
            cut({prompts.data(), prompts.size()}, most_tokens_ - tokens);
        }
        for (const auto& [request, piece] : prompts) {
            if (piece > 0) {
                begin(request, now);
                add(batch, request, piece);
            } else {
                reasons_.stops(Obstacle::tokens);
            }
        }
        for (const RequestId request : decoding) {
            ensure(kv_.hold(request, sequences_[request].computed + 1), "blocks that were counted");
            add(batch, request, 1);
        }
    }

    void cut(std::span<std::pair<RequestId, u32>> prompts, u64 left) const {
        u64 all = 0;
        for (const auto& [request, need] : prompts) {
            all += need;
        }
        if (all <= left) {
            return;
        }
        const u32 unit = kv_.size();
        for (auto& [request, piece] : prompts) {
            if (chunks_ == ChunkPolicy::equal_progress) {
                piece = 0;
            } else if (piece > left) {
                piece = static_cast<u32>(left / unit * unit);
            }
            left -= piece;
        }
        for (bool goes_on = chunks_ == ChunkPolicy::equal_progress; goes_on;) {   // a unit each, round by round
            goes_on = false;
            for (auto& [request, piece] : prompts) {
                const u32 more = std::min(unit, missing(request) - piece);
                if (more > 0 && more <= left) {
                    piece += more;
                    left -= more;
                    goes_on = true;
                }
            }
        }
    }

    void begin(RequestId request, Time now) {
        if (!is_waiting(request)) {
            return;
        }
        const auto found = std::find(waiting_.begin(), waiting_.end(), request);
        waiting_.erase(found);
        waiting_.push_front(request);
        start_first(now);
        for (std::size_t at = running_.size() - 1; at > 0 && place_[running_[at]] < place_[running_[at - 1]]; --at) {
            std::swap(running_[at], running_[at - 1]);
        }
        const u32 tokens = capacity_ == CapacityPolicy::max_utilization ? known_tokens(request) : reserve(request);
        ensure(kv_.hold(request, tokens), "blocks that were counted");
    }

    CapacityPolicy capacity_;
    ChunkPolicy chunks_;
    bool is_chunked_;
    u32 seats_of_batch_;
    u64 seats_;
    u64 most_tokens_;
    IdVector<RequestId, u64> place_;   // in the order of arrival here
    u64 next_place_ = 0;
    std::vector<RequestId> fitting_;
};

std::unique_ptr<Engine> make_tensorrt_llm(const Engine::Place& place, const EngineOptions& given) {
    return std::make_unique<TensorRtLlm>(place, *find_engine("tensorrt_llm"), given);
}

const RegisteredEngine registered_tensorrt_llm({
    "tensorrt_llm",
    "TensorRT-LLM: in-flight batching, with reserves so that none is paused, or with as many as fit",
    make_tensorrt_llm,
    {
        {"num_blocks", 4096, 1, "blocks of KV"},
        {"block_size", 32, 1, "tokens of a block"},
        {"max_batch_size", 256, 1, "sequences that run at once"},
        {"max_num_tokens", 8192, 1, "tokens of an iteration"},
        {"enable_chunked_context", 1, 0, "prompts may be cut, to whole blocks", {"off", "on"}},
        {"context_chunking_policy", 0, 0, "whose prompt is cut", {"FIRST_COME_FIRST_SERVED", "EQUAL_PROGRESS"}},
        {"capacity_scheduler_policy", 0, 0, "who may enter",
         {"GUARANTEED_NO_EVICT", "MAX_UTILIZATION", "STATIC_BATCH"}},
    },
    true,
});

}  // namespace

}  // namespace yantra::serving
