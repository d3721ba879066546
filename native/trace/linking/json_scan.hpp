// JsonScan: steps through JSON text of any spacing; every step is false where something else comes.
// Trade-off: stricter than JSON where readers differ (lone surrogates, deep nesting), so that what
// passes here reads the same anywhere.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace yantra::linking {

class JsonScan {
public:
    explicit JsonScan(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

    bool at_end() {
        space();
        return at_ == end_;
    }
    bool is(char wanted) {
        space();
        return at_ != end_ && *at_ == wanted;
    }
    bool take(char wanted) {
        const bool found = is(wanted);
        at_ += found ? 1 : 0;
        return found;
    }
    bool null() {
        space();
        return word("null");
    }

    // Without its quotes, and with its escapes.
    bool text(std::string_view& into) {
        if (!take('"')) {
            return false;
        }
        const char* const begin = at_;
        while (at_ != end_ && *at_ != '"') {
            if (static_cast<unsigned char>(*at_) < 0x20 || (*at_ == '\\' && !escape())) {
                return false;
            }
            ++at_;
        }
        into = {begin, static_cast<std::size_t>(at_ - begin)};
        return take_raw('"');
    }

    // An integer of 64 bits, and no other number.
    bool whole(std::int64_t& into) {
        std::string_view token;
        bool is_whole = false;
        const char* const begin = at_;
        if (number(token, is_whole) && is_whole && parse(token, into)) {
            return true;
        }
        at_ = begin;
        return false;
    }

    bool number(std::string_view& token, bool& is_whole) {
        space();
        const char* const begin = at_;
        take_raw('-');
        const char* const digits = at_;
        const std::size_t count = skip_digits();
        if (count == 0 || (count > 1 && *digits == '0')) {
            return false;
        }
        is_whole = true;
        if (take_raw('.')) {
            is_whole = false;
            if (skip_digits() == 0) {
                return false;
            }
        }
        if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
            is_whole = false;
            ++at_;
            if (!take_raw('-')) {
                take_raw('+');
            }
            if (skip_digits() == 0) {
                return false;
            }
        }
        token = {begin, static_cast<std::size_t>(at_ - begin)};
        return true;
    }

    // A value of any kind, as it stands in the text.
    bool skip(std::string_view& into, int depth = 0) {
        space();
        const char* const begin = at_;
        if (at_ == end_ || depth > deepest || !value(depth)) {
            return false;
        }
        into = {begin, static_cast<std::size_t>(at_ - begin)};
        return true;
    }

    template <class Field>
    bool object(Field field) {
        if (!take('{')) {
            return false;
        }
        if (take('}')) {
            return true;
        }
        do {
            std::string_view key;
            if (!text(key) || !take(':') || !field(key)) {
                return false;
            }
        } while (take(','));
        return take('}');
    }

    template <class Element>
    bool list(Element element) {
        if (!take('[')) {
            return false;
        }
        if (take(']')) {
            return true;
        }
        do {
            if (!element()) {
                return false;
            }
        } while (take(','));
        return take(']');
    }

    static bool parse(std::string_view token, std::int64_t& into) {
        const auto [past, error] = std::from_chars(token.data(), token.data() + token.size(), into);
        return error == std::errc() && past == token.data() + token.size() && into != INT64_MIN;
    }

private:
    static constexpr int deepest = 60;

    void space() {
        while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) {
            ++at_;
        }
    }
    bool take_raw(char wanted) {
        const bool found = at_ != end_ && *at_ == wanted;
        at_ += found ? 1 : 0;
        return found;
    }
    bool word(std::string_view wanted) {
        const bool found = std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(wanted);
        at_ += found ? wanted.size() : 0;
        return found;
    }
    std::size_t skip_digits() {
        const char* const begin = at_;
        while (at_ != end_ && *at_ >= '0' && *at_ <= '9') {
            ++at_;
        }
        return static_cast<std::size_t>(at_ - begin);
    }
    // From the backslash to the escape's last character.
    bool escape() {
        if (++at_ == end_) {
            return false;
        }
        if (*at_ != 'u') {
            return std::string_view("\"\\/bfnrt").find(*at_) != std::string_view::npos;
        }
        unsigned code = 0;
        for (int digit = 0; digit < 4; ++digit) {
            if (++at_ == end_) {
                return false;
            }
            const auto place = std::string_view("0123456789abcdefABCDEF").find(*at_);
            if (place == std::string_view::npos) {
                return false;
            }
            code = code * 16 + static_cast<unsigned>(place < 16 ? place : place - 6);
        }
        return code < 0xd800 || code > 0xdfff;
    }
    bool value(int depth) {
        std::string_view skipped;
        bool is_whole = false;
        switch (*at_) {
            case '"':
                return text(skipped);
            case '{':
                return object([&](std::string_view) { return skip(skipped, depth + 1); });
            case '[':
                return list([&] { return skip(skipped, depth + 1); });
            case 'n':
                return word("null");
            case 't':
                return word("true");
            case 'f':
                return word("false");
            default:
                return number(skipped, is_whole);
        }
    }

    const char* at_;
    const char* end_;
};

}  // namespace yantra::linking
