// What an engine outside decides, checked and done.
#include "serving/outside.hpp"

#include <memory>
#include <utility>

namespace yantra::serving {

namespace {

constexpr u32 most_restarts = 1000;   // of a request: more never end

std::string with_number(std::string_view before, i64 number) { return std::string(before) + std::to_string(number); }

class OutsideEngine final : public QueuedEngine {
public:
    OutsideEngine(const Place& place, const OutsideLimits& limits, std::unique_ptr<Decider> decider)
        : QueuedEngine(place, limits.blocks, limits.block_size), limits_(limits), decider_(std::move(decider)),
          state_(place.requests.size()) {}

    void accepts(RequestId request, Time now) override {
        state_[request] = State::waits;
        QueuedEngine::accepts(request, now);
    }
    u64 alike(const Batch&, const Batch&) override { return 1; }

protected:
    void fills(Time now, Batch& batch) override {
        if (waiting_.empty() && running_.empty()) {
            return;
        }
        now_ = now;
        show(waiting_, seen_waiting_);
        show(running_, seen_running_);
        const Decision decision = decider_->decides(now, seen_waiting_, seen_running_, kv_.free());
        if (decision.requests.size() != decision.tokens.size()) {
            const auto given = static_cast<i64>(decision.tokens.size());
            refuse(with_number("it gives ", given) + with_number(" numbers of tokens for ",
                   static_cast<i64>(decision.requests.size())) + " requests");
        }
        for (const i64 number : decision.preempted) {
            preempt(known(number, "begin anew"), now);
        }
        for (std::size_t at = 0; at < decision.requests.size(); ++at) {
            run(known(decision.requests[at], "run"), decision.tokens[at], batch, now);
        }
        for (const Item& item : batch.items) {
            state_[item.request] = State::runs;
        }
        if (batch.items.empty()) {
            check_idle();
        }
        reasons_.stops(running_.size() >= limits_.sequences ? Obstacle::seats
                       : batch.tokens >= limits_.tokens     ? Obstacle::tokens
                       : kv_.free() == 0                    ? Obstacle::blocks
                                                            : Obstacle::order);
    }
    void gives_up(RequestId request) override {
        state_[request] = State::absent;
        QueuedEngine::gives_up(request);
    }

private:
    enum class State : u8 { absent, waits, runs, chosen };   // chosen: for this iteration

    template <class Requests>
    void show(const Requests& from, Seen& to) const {
        for (std::vector<i64>& column : to.columns) {
            column.clear();
        }
        for (const RequestId request : from) {
            const Sequence& of = sequences_[request];
            const i64 row[] = {request.index(),
                               requests_.prompt[request],
                               of.emitted,
                               of.computed,
                               requests_.limit[request],
                               requests_.priority[request],
                               requests_.user[request],
                               ledger_.entries()[request].arrival,
                               kv_.held(request)};
            for (std::size_t at = 0; at < seen_columns; ++at) {
                to.columns[at].push_back(row[at]);
            }
        }
    }

    RequestId known(i64 number, std::string_view what) const {
        const bool is_one = number >= 0 && number < static_cast<i64>(requests_.size());
        if (!is_one || state_[RequestId(static_cast<u32>(number))] == State::absent) {
            refuse("request " + with_number("", number) + " is to " + std::string(what) + ", but it is not here");
        }
        return RequestId(static_cast<u32>(number));
    }

    void preempt(RequestId request, Time now) {
        if (state_[request] != State::runs) {
            refuse(name(request) + " is to begin anew, but it does not run");
        }
        if (ledger_.entries()[request].restarts >= most_restarts) {
            refuse(name(request) + with_number(" began anew ", most_restarts) + " times");
        }
        erase_if(running_, [request](RequestId other) { return other == request; });
        state_[request] = State::waits;
        begins_anew(request, now);
    }

    void run(RequestId request, i64 tokens, Batch& batch, Time now) {
        if (state_[request] == State::chosen) {
            refuse(name(request) + " is to run twice in one iteration");
        }
        if (tokens < 1 || tokens > missing(request)) {
            refuse(name(request) + with_number(" gets ", tokens) + with_number(" tokens; expected 1 to ", missing(request)));
        }
        if (batch.tokens + static_cast<u64>(tokens) > limits_.tokens) {
            refuse("an iteration gets " + with_number("", static_cast<i64>(batch.tokens) + tokens) +
                   with_number(" tokens; at most ", limits_.tokens));
        }
        if (state_[request] == State::waits && running_.size() == limits_.sequences) {
            refuse(name(request) + " is to start, but all seats are taken" +
                   with_number("; at most ", limits_.sequences));
        }
        const u32 all = sequences_[request].computed + static_cast<u32>(tokens);
        if (!kv_.hold(request, all)) {
            refuse(name(request) + with_number(" needs ", i64{kv_.blocks_for(all)} - kv_.held(request)) +
                   with_number(" more blocks; free are ", kv_.free()));
        }
        if (state_[request] == State::waits) {
            start(request, now);
        }
        state_[request] = State::chosen;
        add(batch, request, static_cast<u32>(tokens));
    }

    void start(RequestId request, Time now) {
        if (waiting_.front() != request) {
            waiting_.erase(std::find(waiting_.begin(), waiting_.end(), request));
            waiting_.push_front(request);
        }
        start_first(now);
    }

    // It may wait for nothing if one could run whole.
    void check_idle() const {
        const auto fits = [this](RequestId request) {
            const u64 all = u64{requests_.prompt[request]} + requests_.limit[request];
            return kv_.blocks_for(all) <= kv_.free() + kv_.held(request) && missing(request) <= limits_.tokens;
        };
        const auto runs = std::find_if(running_.begin(), running_.end(), fits);
        const auto waits = std::find_if(waiting_.begin(), waiting_.end(), fits);
        if (runs != running_.end()) {
            refuse("no request is to run, though " + name(*runs) + " could");
        }
        if (waits != waiting_.end() && running_.size() < limits_.sequences) {
            refuse("no request is to run, though " + name(*waits) + " could");
        }
    }

    static std::string name(RequestId request) { return with_number("request ", request.index()); }
    [[noreturn]] void refuse(const std::string& why) const {
        decider_->refuses(with_number("at ", now_ / ps_per_ns) + " ns " + why);
        fail("a broken law that nobody raised");
    }

    OutsideLimits limits_;
    std::unique_ptr<Decider> decider_;
    IdVector<RequestId, State> state_;
    Seen seen_waiting_;
    Seen seen_running_;
    Time now_ = 0;
};

}  // namespace

std::unique_ptr<Engine> outside_engine(const Engine::Place& place, const OutsideLimits& limits,
                                       std::unique_ptr<Decider> decider) {
    return std::make_unique<OutsideEngine>(place, limits, std::move(decider));
}

}  // namespace yantra::serving
