// Stream: requests that are given bit by bit in order of arrival, and taken back when they have
// ended. Each has a place for as long as an engine needs what it is. Trade-off: there are so many
// places and no more, and nobody follows another or names his tokens.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "serving/ledger.hpp"

namespace yantra::serving {

class Stream {
public:
    struct Ended {
        u64 row;
        u32 prompt;
        u32 output;
        Ledger::Entry entry;
    };

    explicit Stream(u32 places) {
        slots_.arrival.resize(places);
        slots_.prompt.resize(places);
        slots_.output.resize(places);
        slots_.limit.resize(places);
        slots_.priority.resize(places);
        slots_.user.resize(places);
        slots_.adapter.resize(places);
        slots_.session.resize(places);
        slots_.after.resize(places);
        slots_.delay.resize(places);
        slots_.row.resize(places);
        slots_.its_spans.resize(places);
        slots_.uses.resize(places);
        for (u32 at = places; at-- > 0;) {
            free_.push_back(RequestId(at));
        }
    }

    const Requests& requests() const { return slots_; }
    // Behind those before.
    void feed(std::shared_ptr<const Requests> more) {
        coming_ = std::move(more);
        next_ = 0;
    }
    void close() { is_closed_ = true; }
    // More, before anything goes on.
    bool wants() const { return !is_closed_ && !has_next(); }
    bool is_full() const { return is_full_; }
    bool is_over(u64 finished) const { return is_closed_ && !has_next() && finished == rows_; }
    Time next() const { return has_next() ? coming_->arrival[RequestId(next_)] : end_of_time; }

    // The next that comes; none if all places are taken, and then the stream is full.
    RequestId take() {
        if (free_.empty()) {
            reclaim();
        }
        is_full_ = free_.empty();
        if (is_full_) {
            return RequestId::none;
        }
        const RequestId at = free_.back();
        free_.pop_back();
        const RequestId from(next_++);
        slots_.arrival[at] = coming_->arrival[from];
        slots_.prompt[at] = coming_->prompt[from];
        slots_.output[at] = coming_->output[from];
        slots_.limit[at] = coming_->limit[from];
        slots_.priority[at] = coming_->priority[from];
        slots_.user[at] = coming_->user[from];
        slots_.adapter[at] = coming_->adapter[from];
        slots_.session[at] = coming_->session[from];
        slots_.row[at] = rows_++;
        const auto content = coming_->content(from);
        slots_.its_spans[at.index()].assign(content.begin(), content.end());
        return at;
    }
    void ends(RequestId request, const Ledger::Entry& entry) {
        ended_.push_back({slots_.row[request], slots_.prompt[request], slots_.output[request], entry});
        leaving_.push_back(request);
    }
    std::vector<Ended> take_ended() { return std::exchange(ended_, {}); }

private:
    bool has_next() const { return coming_ != nullptr && next_ < coming_->size(); }
    void reclaim() {
        std::size_t kept = 0;
        for (const RequestId request : leaving_) {
            if (slots_.uses[request] > 0) {
                leaving_[kept++] = request;
            } else {
                free_.push_back(request);
            }
        }
        leaving_.resize(kept);
    }

    Requests slots_;
    std::shared_ptr<const Requests> coming_;
    u32 next_ = 0;
    u64 rows_ = 0;
    bool is_closed_ = false;
    bool is_full_ = false;
    std::vector<RequestId> free_;
    std::vector<RequestId> leaving_;   // that ended, but may still be needed
    std::vector<Ended> ended_;
};

}  // namespace yantra::serving
