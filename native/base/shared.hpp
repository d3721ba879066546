// Shared: a vector or text that copies on write. Trade-off: reads take one more step.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace yantra {

template <class Values>
class Shared {
public:
    using value_type = typename Values::value_type;

    Shared() = default;
    Shared(Values values) : values_(std::make_shared<Values>(std::move(values))) {}

    std::size_t size() const { return values_ == nullptr ? 0 : values_->size(); }
    bool empty() const { return size() == 0; }
    const value_type* data() const { return values_ == nullptr ? nullptr : values_->data(); }
    const value_type* begin() const { return data(); }
    const value_type* end() const { return data() + size(); }
    const value_type& operator[](std::size_t at) const { return (*values_)[at]; }

    // Whether two are one object; equal ones may not be.
    bool is(const Shared& other) const { return values_ == other.values_; }
    friend bool operator==(const Shared& one, const Shared& other) {
        return one.is(other) || std::equal(one.begin(), one.end(), other.begin(), other.end());
    }

    // Invalidates what was read.
    Values& own() {
        if (values_ == nullptr) {
            values_ = std::make_shared<Values>();
        } else if (values_.use_count() > 1) {
            values_ = std::make_shared<Values>(*values_);
        } else {
            std::atomic_thread_fence(std::memory_order_acquire);   // whoever shared it has read it
        }
        return *values_;
    }
    void clear() { values_.reset(); }

private:
    std::shared_ptr<Values> values_;
};

template <class Value>
using SharedVector = Shared<std::vector<Value>>;

}  // namespace yantra
